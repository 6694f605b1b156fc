"""The sidecar's process: folders, shelf, door."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from core.database import Database
from core.orchestrator.engine import Engine
from core.settings import Settings, SettingsError
from sidecar.application import create_app
from sidecar.checking import Checking
from sidecar.child.limits import Limits
from sidecar.folders import Folder
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe
from sidecar.nursery import Broker, Nursery
from sidecar.shelf import Shelf
from sidecar.tools import KeepMemos, Rehearse, Rules, Tools
from skills.places import SHIPPED, agent_folder, people_folders

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def serve(
    settings: Settings,
    database: Database,
    broker: Broker,
    rehearsing: Callable[[Nursery], Rehearse],
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
    folders = folders_of(settings, home)
    nursery = Nursery(Jail(home / "sidecar" / "run", probe(), Limits(seconds=settings.skill_call_seconds)), broker)
    tools = Tools(
        database=database,
        engine=engine,
        url=url,
        nursery=nursery,
        check=Checking(folders),
        rehearse=rehearsing(nursery),
        checkers=ThreadPoolExecutor(64, thread_name_prefix="checker"),
        rules=rules_of(settings),
        keep_memos=keep_memos,
    )
    shelf = Shelf(folders, tools)
    shelf.start()
    return create_app(shelf, engine, database.clock)


def folders_of(settings: Settings, home: Path) -> tuple[Folder, ...]:
    """The shipped skills, people's own, and the agent's. A folder is one of them, however often it is named."""
    own = (Folder(path, "person") for path in people_folders(home, settings.skill_path))
    return (Folder(SHIPPED.resolve(), "shipped"), *own, Folder(agent_folder(home), "agent"))


def rules_of(settings: Settings) -> Rules:
    return Rules(
        canary_runs=settings.canary_runs,
        shadow_runs=settings.shadow_runs,
        always_ask=settings.skill_cards == "always",
        failures=settings.skill_failures,
        idle=settings.skill_idle_seconds,
    )
