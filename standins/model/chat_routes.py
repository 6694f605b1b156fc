"""The routes `POST /v1/chat/completions` and `GET /v1/models`."""

from __future__ import annotations

import json
import time
from typing import Any

from flask import Blueprint, Response, jsonify, request

from standins.fault import Fault
from standins.model import faults, replay, request_log
from standins.model.chat_request import ChatRequest, read_request
from standins.model.config import MODEL, ModelConfig
from standins.model.door import require_key
from standins.model.misbehaviour import apply_model_fault
from standins.model.problems import ModelProblem
from standins.model.reply import StandinReply, chunks, completion
from standins.model.rules.decide import decide, decide_verdict
from standins.store import StandinStore


def chat_routes(config: ModelConfig, store: StandinStore) -> Blueprint:
    """Make the routes that any OpenAI client uses."""
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
            number = request_log.record_request(
                db, body if isinstance(body, dict) else {"unreadable": True}, config.clock.now()
            )
        try:
            asked = read_request(body)
            reply, fault = _choose_reply(config, store, asked)
        except ModelProblem as problem:
            with store.begin() as db:
                request_log.record_answer(db, number, problem.body())
            raise
        created = int(config.clock.now().timestamp())
        answer = completion(reply, number=number, created=created, prompt=json.dumps(body))
        return _send_reply(store, number, answer, fault, asked)

    return routes


def _choose_reply(config: ModelConfig, store: StandinStore, asked: ChatRequest) -> tuple[StandinReply, Fault | None]:
    if not config.faults:
        return _by_rule(asked), None
    with store.begin() as db:
        recorded = replay.next_recorded_reply(db, asked.thread, asked.goal)
    if isinstance(recorded, ModelProblem):
        raise recorded
    reply = recorded or _by_rule(asked)
    with store.begin() as db:
        fault = faults.take_model_fault(db, asked.thread, calls=bool(reply.calls))
    return (reply, None) if fault is None else (apply_model_fault(reply, fault, asked.conversation), fault)


def _by_rule(asked: ChatRequest) -> StandinReply:
    if asked.verdict is not None:
        return decide_verdict(asked.verdict, asked.schema, asked.conversation)
    return decide(asked.conversation, asked.tools)


def _send_reply(
    store: StandinStore, number: int, answer: dict[str, Any], fault: Fault | None, asked: ChatRequest
) -> Response:
    """Apply a fault of the connection, log the answer and return the response."""
    response = _wire_fault(fault) or _response(answer, stream=asked.stream)
    with store.begin() as db:
        request_log.record_answer(db, number, answer if fault is None else {**answer, "fault": str(fault)})
    return response


def _wire_fault(fault: Fault | None) -> Response | None:
    """Return the response that a fault orders in place of the answer; None if the answer is sent after all."""
    match fault:
        case Fault("silence", seconds):
            time.sleep(float(seconds))
            return None
        case Fault("error", status):
            raise ModelProblem(int(status), "ordered_error", "this error was ordered")
        case Fault("html"):
            return Response("<html><body>Bad gateway</body></html>", mimetype="text/html")
        case Fault("no_choices"):
            return jsonify({"id": "chatcmpl-broken", "object": "chat.completion", "choices": []})
        case Fault("drop"):
            return _broken_off()
        case _:
            return None


def _broken_off() -> Response:
    """Return a response that promises more bytes than it has: the client sees the connection break off."""
    response = Response('{"id": "chatcmpl-', mimetype="application/json")
    response.headers["Content-Length"] = "100000"
    response.headers["Connection"] = "close"
    return response


def _response(answer: dict[str, Any], *, stream: bool) -> Response:
    return Response(chunks(answer), mimetype="text/event-stream") if stream else jsonify(answer)
