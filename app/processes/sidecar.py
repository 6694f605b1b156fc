"""The sidecar as a process: its broker, its rehearsals and its server put together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.clients import make_inngest_client, make_model, make_search, open_database
from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from app.processes.readiness import refuse_unready
from core.identity import HOME_WORKSPACE
from core.orchestrator.engine import Engine
from sidecar.broker.network.addresses import Addresses, own_addresses
from sidecar.broker.services.factory import make_broker
from sidecar.broker.services.llm import ModelPrices
from sidecar.pool.spawner import Spawner
from sidecar.protocol.call_slots import SERVER_THREADS
from sidecar.rehearsal.version_rehearsal import VersionRehearsal
from sidecar.serve.process import start_sidecar

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def run(options: ProcessOptions) -> None:
    """Serve skills until a signal stops it. Raise ClickException if it could not work."""
    refuse_unready(options, speaks_to_providers=False)
    run_wsgi(options, SERVER_THREADS, partial(_build_sidecar, options))


def _build_sidecar(options: ProcessOptions) -> WSGIApplication:
    settings, home, engine = options.settings, options.settings.home.resolve(), Engine.of(options.settings)
    database = open_database(settings, make_inngest_client(settings))
    broker = make_broker(
        database=database,
        workspace_id=HOME_WORKSPACE,
        model=make_model(settings),
        prices=ModelPrices(settings.model_price_input, settings.model_price_output),
        engine=engine,
        home=home,
        addresses=Addresses(own_addresses(settings, options.url, engine.api_url, engine.events_url), home),
        search=make_search(settings, database),
    )

    def rehearsing(spawner: Spawner) -> VersionRehearsal:
        return VersionRehearsal(spawner, broker, partial(database.reading, HOME_WORKSPACE), database.ids)

    return start_sidecar(settings, database, broker, rehearsing, broker.recordings.keep_memos, options.url)
