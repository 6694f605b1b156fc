"""Puts a broker together."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from core.database import Database
from core.llm.port import Model
from core.orchestrator.engine import Engine
from core.search.dependencies import SearchDependencies
from sidecar.broker import asks
from sidecar.broker.addresses import Addresses
from sidecar.broker.broker import Broker, Door
from sidecar.broker.claiming import Claim, Release
from sidecar.broker.fetching import Fetch
from sidecar.broker.giving_work import GiveWork
from sidecar.broker.looking_back import LookBack
from sidecar.broker.outbound import Outbound
from sidecar.broker.recordings import Recordings
from sidecar.broker.remembering import Remember
from sidecar.broker.sending import SendEvents
from sidecar.broker.telling import Tell
from sidecar.broker.thinking import Prices, Think
from skills.secrets import SecretFiles


def make_broker(
    *,
    database: Database,
    workspace_id: str,
    model: Model,
    prices: Prices,
    engine: Engine,
    home: Path,
    addresses: Addresses,
    search: SearchDependencies,
) -> Broker:
    """A broker for the skills of one home; it opens nothing before its first child."""
    writing = partial(database.transaction, workspace_id)
    reading = partial(database.reading, workspace_id)
    doors = {
        "/http": Door(asks.HttpAsk, Fetch(Outbound(addresses), SecretFiles(home))),
        "/llm": Door(asks.LlmAsk, Think(model, prices, writing)),
        "/notify": Door(asks.NotifyAsk, Tell(writing)),
        "/events": Door(asks.EventsAsk, SendEvents(engine, database.clock)),
        "/ask_agent": Door(asks.AgentAsk, GiveWork(writing)),
        "/memory": Door(asks.MemoryAsk, Remember(search, workspace_id)),
        "/runs": Door(asks.RunsAsk, LookBack(reading)),
        "/claim": Door(asks.ClaimAsk, Claim(writing)),
        "/release": Door(asks.ReleaseAsk, Release(writing)),
    }
    return Broker(doors, database, workspace_id, Recordings(home / "sidecar" / "recordings"))
