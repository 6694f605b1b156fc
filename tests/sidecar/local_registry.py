"""The sidecar's skill registry in this process, so that a test can choose its rules, its gate and its pauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

from app.supervision.ports import free_ports
from core.database import Database
from core.identity import HOME_WORKSPACE
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.engine import Engine
from core.search.dependencies import SearchDependencies
from core.search.embedders import HashedPieces
from core.search.index import NoIndex
from sidecar.broker.network.addresses import Addresses
from sidecar.broker.services.factory import make_broker
from sidecar.broker.services.llm import ModelPrices
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation
from sidecar.pool.spawner import Spawner
from sidecar.rehearsal.version_rehearsal import VersionRehearsal
from sidecar.rollout.dependencies import CheckFile, RolloutRules, SidecarDependencies
from sidecar.serve.application import create_app
from sidecar.serve.registry import RegistryPauses, SkillRegistry
from sidecar.watch.folders import SkillFile, SkillFolder
from skills.format.problem import SkillProblem
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar
from tests.support.wsgi import serving


def open_gate(file: SkillFile) -> list[SkillProblem]:
    """A gate with a hole: what is wrong is found by running the file in its jail, or not at all."""
    del file
    return []


def jail_folders(running: RunningSidecar) -> list[Path]:
    """One for each process of a skill that is there, the spare one included."""
    assert running.jail is not None
    return list(running.jail.iterdir())


@contextmanager
def local_registry(
    engine: RunningEngine,
    home: Path,
    *,
    rules: RolloutRules | None = None,
    check: CheckFile = open_gate,
    pauses: RegistryPauses | None = None,
    folders: Sequence[SkillFolder] = (),
    prepared: bool = True,
) -> Iterator[RunningSidecar]:
    port = free_ports(1)[0]
    client = Engine.at(engine.url, engine.signing_key, engine.event_key)
    running = RunningSidecar(engine, home, port=port)
    if prepared:
        running.prepare()
    database = Database(running.settings.sql_url)
    broker = make_broker(
        database=database,
        workspace_id=HOME_WORKSPACE,
        model=ScriptedModel(),
        prices=ModelPrices(Decimal(0), Decimal(0)),
        engine=client,
        home=home,
        addresses=Addresses((), home),
        search=SearchDependencies(database, HashedPieces(), NoIndex()),
    )
    jail = Jail(home / "sidecar" / "run", probe_isolation())
    running.jail = jail.folder
    spawner = Spawner(jail, broker)
    dependencies = SidecarDependencies(
        database=database,
        engine=client,
        url=f"http://127.0.0.1:{port}",
        spawner=spawner,
        check=check,
        rehearse=VersionRehearsal(spawner, broker, partial(database.reading, HOME_WORKSPACE), database.ids),
        checkers=ThreadPoolExecutor(64),
        rules=rules or RolloutRules(),
    )
    registry = SkillRegistry(
        [*folders, SkillFolder(running.folder, "agent")], dependencies, pauses or RegistryPauses(quiet=1, poll=0.2)
    )
    with serving(create_app(registry, client, database.clock), port):
        registry.start()
        try:
            yield running
        finally:
            registry.stop()
            broker.stop()
            database.close()
            running.database.close()
