"""What the tests of this package play on: one product on each database for all of them, or processes of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.faults.model_process import model_process
from tests.faults.rig import MODEL_KEY, Rig, RigModel, RigRows, settings_of
from tests.faults.stage import Stage
from tests.generation.world import StudioOfTests
from tests.studio import running
from tests.support.databases import Store
from tests.support.product import LOADED_FIRST, Product


@pytest.fixture(scope="package", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_rig(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, own_studio: StudioOfTests
) -> Iterator[Rig]:
    on_file = request.param == "sqlite"
    url = "" if on_file else _fresh_database(request.getfixturevalue("postgres_server"))
    with model_process(tmp_path_factory.mktemp("model"), MODEL_KEY) as model_url:
        model = RigModel(model_url)
        env = settings_of(own_studio, model, url)
        product = Product(tmp_path_factory.mktemp("home"), env=env, program=LOADED_FIRST)
        try:
            product.start()
            rows = RigRows(url or f"sqlite:///file:{product.home / 'loopwright.sqlite'}?mode=ro&uri=true")
            yield Rig(product, own_studio, model, rows, url)
            rows.close()
        finally:
            product.stop()
            model.close()


@pytest.fixture
def rig(shared_rig: Rig) -> Iterator[Rig]:
    """The product at peace before and after."""
    shared_rig.peace()
    yield shared_rig
    shared_rig.peace()


@pytest.fixture
def stage(store: Store, tmp_path: Path, own_studio: StudioOfTests) -> Iterator[Stage]:
    own_studio.heal()
    made = Stage(store, tmp_path, own_studio)
    yield made
    for provider in made.providers:
        provider._http.close()
    own_studio.heal()


@pytest.fixture(scope="package")
def own_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioOfTests]:
    """A process of its own: a thread of ours that is inside SQLite while a test forks would leave its lock there."""
    process = running.Studio(tmp_path_factory.mktemp("studio"), pace=0, faults=True)
    process.start()
    used = StudioOfTests(process.url)
    yield used
    used.close()
    process.client.close()
    process.kill()


def _fresh_database(server: str) -> str:
    """An empty database, which goes with its server."""
    name = f"faults_{uuid.uuid4().hex[:12]}"
    owner = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    owner.dispose()
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)
