"""A keyless engine with an app for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.app_server import AppServer
from tests.engine.clients import close_client, make_client
from tests.engine.engine_process import EngineProcess
from tests.engine_pages.shop import shop
from tests.engine_pages.visitor import Visitor


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def shop_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    """An engine that knows the app `shop`."""
    on_file = request.param == "sqlite"
    folder = tmp_path_factory.mktemp("engine")
    engine = EngineProcess(f"sqlite:///{folder}/engine.db" if on_file else request.getfixturevalue("postgres_url"))
    engine.start()
    client = make_client(engine, "shop")
    app = AppServer(client, shop(client)).start()
    try:
        assert app.sync()["ok"] is True
        yield engine
    finally:
        app.stop()
        close_client(client)
        engine.close()


@pytest.fixture
def visitor(shop_engine: EngineProcess) -> Iterator[Visitor]:
    someone = Visitor(shop_engine)
    yield someone
    someone.close()
