"""Steps of the main story, played up to where a test begins."""

from __future__ import annotations

from core.llm.openai_model import OpenAIModel
from tests.model.standin import Worker, call_names, parse_arguments

POSTERS = "Make me a set of three retro posters for the Harbour Festival, navy and cream."


def play_plan(worker: Worker) -> None:
    """Play the first step: brief and checklist are stored."""
    decision = worker.decide()
    assert call_names(decision) == ["set_brief", "create_checklist"]
    worker.brief = parse_arguments(decision.calls[0].arguments)["brief"]
    steps = parse_arguments(decision.calls[1].arguments)["steps"]
    worker.checklist = [
        {
            "n": n,
            "title": step["title"],
            "acceptance": step["acceptance"],
            "status": "todo",
            "stale": False,
            "evidence": [],
        }
        for n, step in enumerate(steps, start=1)
    ]
    worker.result(decision, {"ok": True}, {"ok": True})


def play_orders(worker: Worker) -> list[str]:
    """Play the second step and the words after it; answers the titles."""
    decision = worker.decide()
    worker.place(decision)
    under_way = worker.decide()
    assert under_way.calls == ()
    assert under_way.text
    return [parse_arguments(call.arguments)["title"] for call in decision.calls]


def play_end(worker: Worker) -> str:
    """Play the steps after the outcomes up to the report."""
    marks = worker.decide()
    assert call_names(marks) == ["update_checklist"]
    changes = parse_arguments(marks.calls[0].arguments)["changes"]
    assert {change["n"] for change in changes} == {item["n"] for item in worker.checklist}
    assert all(change["status"] == "done" and change["evidence"] for change in changes)
    for item in worker.checklist:
        item["status"] = "done"
    worker.result(marks, {"ok": True})
    end = worker.decide()
    assert call_names(end) == ["finish"]
    worker.result(end, {"ok": True})
    return worker.decide().text


def finished_worker(model: OpenAIModel) -> Worker:
    """The three posters are there and the task has ended."""
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    play_plan(worker)
    play_orders(worker)
    worker.settle()
    play_end(worker)
    return worker


def play_answer(worker: Worker, kind: str, option: str, text: str = "") -> None:
    worker.inputs.append({"kind": "answer", "card_id": "card_1", "card_kind": kind, "option": option, "text": text})
