"""POST /v1/chat/completions and GET /v1/models."""

from __future__ import annotations

import json
import time
from typing import Any

from flask import Blueprint, Response, jsonify, request

from app.standins.fault import Fault
from app.standins.model import faults, replay, request_log
from app.standins.model.asked import Asked, read_request
from app.standins.model.config import MODEL, ModelConfig
from app.standins.model.door import require_key
from app.standins.model.misbehaviour import spoilt
from app.standins.model.problems import Problem
from app.standins.model.reply import Reply, chunks, completion
from app.standins.model.rules.decide import decide, verdict
from app.standins.store import Store


def chat_routes(config: ModelConfig, store: Store) -> Blueprint:
    """The part that any OpenAI client talks to."""
    routes = Blueprint("chat", __name__, url_prefix="/v1")

    @routes.get("/models")
    def models() -> Response:
        require_key(request, config.key)
        model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "offline stand-in"}
        return jsonify({"object": "list", "data": [model]})

    @routes.post("/chat/completions")
    def complete() -> Response:
        require_key(request, config.key)
        body = request.get_json(force=True, silent=True)
        with store.begin() as db:
            number = request_log.asked(db, body if isinstance(body, dict) else {"unreadable": True}, config.clock.now())
        try:
            asked = read_request(body)
            reply, fault = _decided(config, store, asked)
        except Problem as problem:
            with store.begin() as db:
                request_log.answered(db, number, problem.body())
            raise
        created = int(config.clock.now().timestamp())
        answer = completion(reply, number=number, created=created, prompt=json.dumps(body))
        return _sent(store, number, answer, fault, asked)

    return routes


def _decided(config: ModelConfig, store: Store, asked: Asked) -> tuple[Reply, Fault | None]:
    if not config.faults:
        return _by_rule(asked), None
    with store.begin() as db:
        recorded = replay.following(db, asked.thread)
    if isinstance(recorded, Problem):
        raise recorded
    reply = recorded or _by_rule(asked)
    with store.begin() as db:
        fault = faults.take(db, asked.thread, calls=bool(reply.calls))
    return (reply, None) if fault is None else (spoilt(reply, fault, asked.conversation), fault)


def _by_rule(asked: Asked) -> Reply:
    if asked.verdict is not None:
        return verdict(asked.verdict, asked.schema, asked.conversation)
    return decide(asked.conversation, asked.tools)


def _sent(store: Store, number: int, answer: dict[str, Any], fault: Fault | None, asked: Asked) -> Response:
    """The answer on the wire, logged as it leaves; faults of the wire happen here."""
    response = _wire_fault(fault) or _response(answer, stream=asked.stream)
    with store.begin() as db:
        request_log.answered(db, number, answer if fault is None else {**answer, "fault": str(fault)})
    return response


def _wire_fault(fault: Fault | None) -> Response | None:
    match fault:
        case Fault("silence", seconds):
            time.sleep(float(seconds))
            return None
        case Fault("error", status):
            raise Problem(int(status), "ordered_error", "this error was ordered")
        case Fault("html"):
            return Response("<html><body>Bad gateway</body></html>", mimetype="text/html")
        case Fault("no_choices"):
            return jsonify({"id": "chatcmpl-broken", "object": "chat.completion", "choices": []})
        case Fault("drop"):
            return _dropped()
        case _:
            return None


def _dropped() -> Response:
    """Promises more bytes than it sends: the client sees the connection break off."""
    response = Response('{"id": "chatcmpl-', mimetype="application/json")
    response.headers["Content-Length"] = "100000"
    response.headers["Connection"] = "close"
    return response


def _response(answer: dict[str, Any], *, stream: bool) -> Response:
    return Response(chunks(answer), mimetype="text/event-stream") if stream else jsonify(answer)
