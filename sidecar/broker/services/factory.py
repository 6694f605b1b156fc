"""Build a broker with all its services."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from core.database import Database
from core.llm.port import Model
from core.orchestrator.engine import Engine
from core.search.dependencies import SearchDependencies
from sidecar.broker import requests
from sidecar.broker.broker import Broker, BrokerRoute
from sidecar.broker.network.addresses import Addresses
from sidecar.broker.network.outbound import OutboundHttp
from sidecar.broker.recordings import Recordings
from sidecar.broker.services.ask_agent import AskAgentService
from sidecar.broker.services.claims import ClaimService, ReleaseService
from sidecar.broker.services.events import EventsService
from sidecar.broker.services.http import HttpService
from sidecar.broker.services.llm import LlmService, ModelPrices
from sidecar.broker.services.memory import MemoryService
from sidecar.broker.services.notify import NotifyService
from sidecar.broker.services.runs import RunsService
from skills.secrets import SecretFiles


def make_broker(
    *,
    database: Database,
    workspace_id: str,
    model: Model,
    prices: ModelPrices,
    engine: Engine,
    home: Path,
    addresses: Addresses,
    search: SearchDependencies,
) -> Broker:
    """Build a broker for the skills of one home. It opens no socket before its first child."""
    writing = partial(database.transaction, workspace_id)
    reading = partial(database.reading, workspace_id)
    routes = {
        "/http": BrokerRoute(requests.HttpRequest, HttpService(OutboundHttp(addresses), SecretFiles(home))),
        "/llm": BrokerRoute(requests.LlmRequest, LlmService(model, prices, writing)),
        "/notify": BrokerRoute(requests.NotifyRequest, NotifyService(writing)),
        "/events": BrokerRoute(requests.EventsRequest, EventsService(engine, database.clock)),
        "/ask_agent": BrokerRoute(requests.AskAgentRequest, AskAgentService(writing)),
        "/memory": BrokerRoute(requests.MemoryRequest, MemoryService(search, workspace_id)),
        "/runs": BrokerRoute(requests.RunsRequest, RunsService(reading)),
        "/claim": BrokerRoute(requests.ClaimRequest, ClaimService(writing)),
        "/release": BrokerRoute(requests.ReleaseRequest, ReleaseService(writing)),
    }
    return Broker(routes, database, workspace_id, Recordings(home / "sidecar" / "recordings"))
