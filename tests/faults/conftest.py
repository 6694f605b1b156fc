"""What the tests of this package play on: one product on each database for all of them, or processes of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.standins.model.config import ModelConfig
from app.standins.model.server import close, create_app
from tests.faults.rig import MODEL_KEY, PROGRAM, Model, Rig, Rows, settings_of
from tests.faults.stage import Stage
from tests.generation.world import Studio, studio
from tests.support.databases import Store
from tests.support.product import Product
from tests.support.wsgi import serving


@pytest.fixture(scope="package", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shared_rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    on_file = request.param == "sqlite"
    url = "" if on_file else _fresh_database(request.getfixturevalue("postgres_server"))
    app = create_app(ModelConfig(tmp_path_factory.mktemp("model"), key=MODEL_KEY, faults=True))
    with serving(app) as model_url, studio(tmp_path_factory.mktemp("studio")) as running:
        model = Model(model_url)
        product = Product(tmp_path_factory.mktemp("home"), env=settings_of(running, model, url), program=PROGRAM)
        try:
            product.start()
            rows = Rows(url or f"sqlite:///file:{product.home / 'loopwright.sqlite'}?mode=ro&uri=true")
            yield Rig(product, running, model, rows, url)
            rows.close()
        finally:
            product.stop()
            close(app)


@pytest.fixture
def rig(shared_rig: Rig) -> Iterator[Rig]:
    """The product at peace before and after."""
    shared_rig.peace()
    yield shared_rig
    shared_rig.peace()


@pytest.fixture
def stage(store: Store, tmp_path: Path, own_studio: Studio) -> Iterator[Stage]:
    own_studio.heal()
    yield Stage(store, tmp_path, own_studio)
    own_studio.heal()


@pytest.fixture(scope="package")
def own_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with studio(tmp_path_factory.mktemp("studio")) as running:
        yield running


def _fresh_database(server: str) -> str:
    """An empty database, which goes with its server."""
    name = f"faults_{uuid.uuid4().hex[:12]}"
    owner = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    owner.dispose()
    return sa.make_url(server).set(database=name).render_as_string(hide_password=False)
