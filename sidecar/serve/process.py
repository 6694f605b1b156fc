"""Start the sidecar's process: folders, checks, jail, registry and web application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from core.database import Database
from core.orchestrator.engine import Engine
from core.settings import Settings, SettingsError
from sidecar.child.limits import Limits
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation
from sidecar.pool.spawner import ChildBroker, Spawner
from sidecar.rollout.dependencies import KeepMemos, RehearseVersion, RolloutRules, SidecarDependencies
from sidecar.serve.application import create_app
from sidecar.serve.registry import SkillRegistry
from sidecar.watch.folders import SkillFile, SkillFolder, list_skill_paths
from skills.checks.gate import check_source
from skills.folders import SHIPPED_FOLDER, agent_folder, people_folders
from skills.format.problem import SkillProblem

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


class FileCheck:
    """Check a file's source, and its name against the files that exist now."""

    def __init__(self, folders: Sequence[SkillFolder]) -> None:
        self._folders = tuple(folders)

    def __call__(self, file: SkillFile) -> list[SkillProblem]:
        others = {path.stem: path for path in list_skill_paths(self._folders) if path != file.path}
        return check_source(file.source, file.stem, others)


def start_sidecar(
    settings: Settings,
    database: Database,
    broker: ChildBroker,
    rehearsing: Callable[[Spawner], RehearseVersion],
    keep_memos: KeepMemos,
    own_url: str = "",
) -> WSGIApplication:
    """Build the application and start watching; called after the process has forked.

    `rehearsing` builds what rehearses a version, given the spawner of its processes. `own_url` is where the sidecar
    listens, for when no address is set.
    """
    url = (settings.sidecar_url or own_url).rstrip("/")
    if not url:
        raise SettingsError(["LOOPWRIGHT_SIDECAR_URL: the sidecar needs the address under which the engine reaches it"])
    home = settings.home.resolve()
    engine = Engine.of(settings)
    folders = skill_folders(settings, home)
    spawner = Spawner(
        Jail(home / "sidecar" / "run", probe_isolation(), Limits(seconds=settings.skill_call_seconds)), broker
    )
    dependencies = SidecarDependencies(
        database=database,
        engine=engine,
        url=url,
        spawner=spawner,
        check=FileCheck(folders),
        rehearse=rehearsing(spawner),
        checkers=ThreadPoolExecutor(64, thread_name_prefix="checker"),
        rules=rollout_rules(settings),
        keep_memos=keep_memos,
    )
    registry = SkillRegistry(folders, dependencies)
    registry.start()
    return create_app(registry, engine, database.clock)


def skill_folders(settings: Settings, home: Path) -> tuple[SkillFolder, ...]:
    """Return the folders of shipped skills, of people's and of the agent's, in this order."""
    own = (SkillFolder(path, "person") for path in people_folders(home, settings.skill_path))
    return (SkillFolder(SHIPPED_FOLDER.resolve(), "shipped"), *own, SkillFolder(agent_folder(home), "agent"))


def rollout_rules(settings: Settings) -> RolloutRules:
    """Read the rules of the life cycle from the settings."""
    return RolloutRules(
        canary_runs=settings.canary_runs,
        shadow_runs=settings.shadow_runs,
        always_ask=settings.skill_cards == "always",
        failures=settings.skill_failures,
        idle=settings.skill_idle_seconds,
    )
