"""Measure what lies between two requests of a model and is not the harness: the port's own client, and the tool."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import cast

from app.bootstrap import PERSON_ID, WORKSPACE_ID
from core.database import Database
from core.llm.openai_model import OpenAIModel
from core.llm.port import ToolSpec
from core.tools import CallContext, Fence
from tests.bench.instant_model import InstantModel
from workspace.reading_tools import ListObjects, ListObjectsArguments

_ROUNDS = 40


def client_ms(model: InstantModel) -> float:
    """What the client adds to a decision: to put a request on the wire and to read the answer, without the server."""
    sent = model.last_request
    tools = [ToolSpec(**one["function"]) for one in sent["tools"]]
    port = OpenAIModel(model=sent["model"], api_key="instant", base_url=model.url)
    model.plan(_ROUNDS)
    model.served.clear()
    whole = _median(lambda: port.decide(sent["messages"], tools))
    return max(0.0, whole - statistics.median(model.served))


def tool_ms(database_url: str) -> float:
    """What the run of the called tool takes."""
    database = Database(database_url)
    # Looking needs no right to act.
    call = CallContext(
        database, cast("Fence", None), WORKSPACE_ID, PERSON_ID, "person", "task", "turn", "turn:1:0", "en"
    )
    taken = _median(lambda: ListObjects().run(call, ListObjectsArguments(query="nothing 1")))
    database.close()
    return taken


def _median(act: Callable[[], object]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        act()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)
