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
    """Names of files are compared with those that are there now."""

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
    """Build the application and start watching; called once the process has forked.

    `rehearsing` makes what tries a change, in children of the nursery it is given. `own_url` is where the sidecar
    listens, for a setup in which the engine reaches it there.
    """
    url = (settings.sidecar_url or own_url).rstrip("/")
    if not url:
        raise SettingsError(["LOOPWRIGHT_SIDECAR_URL: the sidecar needs the address under which the engine reaches it"])
    home = settings.home.resolve()
    engine = Engine.of(settings)
    folders = skill_folders(settings, home)
    nursery = Spawner(
        Jail(home / "sidecar" / "run", probe_isolation(), Limits(seconds=settings.skill_call_seconds)), broker
    )
    tools = SidecarDependencies(
        database=database,
        engine=engine,
        url=url,
        nursery=nursery,
        check=FileCheck(folders),
        rehearse=rehearsing(nursery),
        checkers=ThreadPoolExecutor(64, thread_name_prefix="checker"),
        rules=rollout_rules(settings),
        keep_memos=keep_memos,
    )
    shelf = SkillRegistry(folders, tools)
    shelf.start()
    return create_app(shelf, engine, database.clock)


def skill_folders(settings: Settings, home: Path) -> tuple[SkillFolder, ...]:
    """The shipped skills, people's own, and the agent's. A folder is one of them, however often it is named."""
    own = (SkillFolder(path, "person") for path in people_folders(home, settings.skill_path))
    return (SkillFolder(SHIPPED_FOLDER.resolve(), "shipped"), *own, SkillFolder(agent_folder(home), "agent"))


def rollout_rules(settings: Settings) -> RolloutRules:
    return RolloutRules(
        canary_runs=settings.canary_runs,
        shadow_runs=settings.shadow_runs,
        always_ask=settings.skill_cards == "always",
        failures=settings.skill_failures,
        idle=settings.skill_idle_seconds,
    )
