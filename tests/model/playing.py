"""The main story, played up to where a test begins."""

from __future__ import annotations

from core.llm.openai_model import OpenAIModel
from tests.model.standin import Worker, names, told

POSTERS = "Make me a set of three retro posters for the Harbour Festival, navy and cream."


def planned(worker: Worker) -> None:
    """Play the first step: brief and checklist are stored."""
    decision = worker.decide()
    assert names(decision) == ["set_brief", "create_checklist"]
    worker.brief = told(decision.calls[0].arguments)["brief"]
    steps = told(decision.calls[1].arguments)["steps"]
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


def ordered(worker: Worker) -> list[str]:
    """Play the second step and the words after it; answers the titles."""
    decision = worker.decide()
    worker.place(decision)
    under_way = worker.decide()
    assert under_way.calls == ()
    assert under_way.text
    return [told(call.arguments)["title"] for call in decision.calls]


def closed(worker: Worker) -> str:
    """Play the steps after the outcomes up to the report."""
    marks = worker.decide()
    assert names(marks) == ["update_checklist"]
    changes = told(marks.calls[0].arguments)["changes"]
    assert {change["n"] for change in changes} == {item["n"] for item in worker.checklist}
    assert all(change["status"] == "done" and change["evidence"] for change in changes)
    for item in worker.checklist:
        item["status"] = "done"
    worker.result(marks, {"ok": True})
    end = worker.decide()
    assert names(end) == ["finish"]
    worker.result(end, {"ok": True})
    return worker.decide().text


def finished(model: OpenAIModel) -> Worker:
    """The three posters are there and the task has ended."""
    worker = Worker(model, goal=POSTERS)
    worker.hear(POSTERS)
    planned(worker)
    ordered(worker)
    worker.settle()
    closed(worker)
    return worker


def answered(worker: Worker, kind: str, option: str, text: str = "") -> None:
    worker.inputs.append({"kind": "answer", "card_id": "card_1", "card_kind": kind, "option": option, "text": text})
