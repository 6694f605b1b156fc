"""A stand-in model on a real port, asked through the adapter as the product asks it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from werkzeug.serving import make_server

from core.llm.openai_model import OpenAIModel
from core.llm.port import ChatMessage, Decision, ToolSpec
from standins.model import ModelConfig, close, create_app


@contextmanager
def running_standin(folder: Path, *, key: str | None = None, faults: bool = False) -> Iterator[str]:
    """The address of a stand-in that serves until the block ends."""
    app = create_app(ModelConfig(folder=folder, key=key, faults=faults))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
        close(app)


def standin_client(url: str, **options: Any) -> OpenAIModel:
    return OpenAIModel(
        **{"model": "standin-1", "api_key": "", "base_url": f"{url}/v1", "timeout_seconds": 20, **options}
    )


def order_fault(url: str, name: str, **more: Any) -> None:
    httpx.post(f"{url}/faults", json={"next": name, **more}).raise_for_status()


def request_log(url: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = httpx.get(f"{url}/log").json()["items"]
    return items


WORKER_TOOLS = (
    "set_brief",
    "create_checklist",
    "update_checklist",
    "ask_user",
    "finish",
    "check_call",
    "read_object",
    "write_document",
    "edit_document",
    "generate_image",
    "generate_video",
    "generate_audio",
    "generate_model3d",
    "cancel_generation",
    "list_models",
)


def specs(names: Sequence[str]) -> list[ToolSpec]:
    return [ToolSpec(name, name, {"type": "object", "properties": {}}) for name in names]


@dataclass
class Worker:
    """One thread of the product as the model sees it: history in order of reading, and a state that a test moves."""

    model: OpenAIModel
    tools: Sequence[str] = WORKER_TOOLS
    language: str = "en"
    kind: str = "persistent"
    goal: str = ""
    thread: str = "task"
    brief: str = ""
    checklist: list[dict[str, Any]] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    open_cards: list[dict[str, Any]] = field(default_factory=list)
    history: list[ChatMessage] = field(default_factory=list)
    inputs: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, text: str, **more: Any) -> None:
        self.inputs.append(
            {"kind": "message", "id": f"msg_{len(self.history)}", "text": text, "attachments": [], **more}
        )

    def decide(self) -> Decision:
        """One request; what it consumed and what was said become history."""
        state = {
            "thread": self.thread,
            "task": {"id": "task_1", "kind": self.kind, "goal": self.goal, "language": self.language},
            "language": self.language,
            "brief": self.brief,
            "checklist": self.checklist,
            "orders": self.orders,
            "objects": self.objects,
            "open_cards": self.open_cards,
        }
        told = f"<input>\n{json.dumps(self.inputs)}\n</input>" if self.inputs else ""
        question = [{"role": "system", "content": "rules"}, *self.history]
        question.append({"role": "user", "content": f"<state>\n{json.dumps(state)}\n</state>\n{told}".strip()})
        decision = self.model.decide(question, specs(self.tools))
        if told:
            self.history.append({"role": "user", "content": told})
        self.inputs = []
        self.history.append(_said(decision))
        return decision

    def result(self, decision: Decision, *results: Mapping[str, Any]) -> None:
        """Give the calls of a decision their results, in order."""
        for call, result in zip(decision.calls, results, strict=True):
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})

    def place(self, decision: Decision) -> None:
        """Store an order for every generation call, as the product does."""
        results = []
        for call in decision.calls:
            order_id = f"order_{len(self.orders) + 1}"
            kind = call.name.removeprefix("generate_")
            self.orders.append(
                {
                    "id": order_id,
                    "kind": kind,
                    "title": parse_arguments(call.arguments)["title"],
                    "state": "queued",
                    "object_ids": [],
                }
            )
            results.append({"order_id": order_id, "state": "ordered"})
        self.result(decision, *results)

    def settle(self, *, failing: Sequence[str] = ()) -> None:
        """End the open orders; a new title makes a new object, a known one a new version."""
        for order in self.orders:
            if order["state"] != "queued":
                continue
            bad = order["title"] in failing
            order["state"] = "failed" if bad else "succeeded"
            if bad:
                order["error"] = "the studio failed"
            else:
                order["object_ids"] = [self._stored(order)]
            outcome = {key: order.get(key) for key in ("title", "state", "object_ids", "error")}
            self.inputs.append({"kind": "outcome", "order_id": order["id"], **outcome})

    def _stored(self, order: Mapping[str, Any]) -> str:
        for known in self.objects:
            if known["title"] == order["title"] and known["kind"] == order["kind"]:
                known["version"] += 1
                return str(known["id"])
        object_id = f"obj_{len(self.objects) + 1}"
        self.objects.append(
            {"id": object_id, "kind": order["kind"], "title": order["title"], "version": 1, "changed": False}
        )
        return object_id


def parse_arguments(arguments: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(arguments)
    return values


def call_names(decision: Decision) -> list[str]:
    return [call.name for call in decision.calls]


def _said(decision: Decision) -> ChatMessage:
    message: dict[str, Any] = {"role": "assistant", "content": decision.text or None}
    if decision.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in decision.calls
        ]
    return message
