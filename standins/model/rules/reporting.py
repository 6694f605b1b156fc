"""Rules for the end of a task: look at failures, mark the checklist with evidence, tell the person."""

from __future__ import annotations

from collections.abc import Sequence

from standins.model.conversation import ModelCall
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules.phrases import phrase
from standins.model.rules.shown_state import ShownOrder, ShownState, ShownStep
from standins.model.rules.story import StoryRequest


def retry_calls(state: ShownState, made: Sequence[ModelCall]) -> list[ReplyCall]:
    """Return the same call again for every work whose order failed once and was not refused."""
    calls = []
    for order in failed(state):
        if order.state != "failed":
            continue
        tries = [one for one in state.orders if one.title == order.title and one.bad]
        before = next((m for m in reversed(made) if m.arguments.get("title") == order.title), None)
        if len(tries) == 1 and before is not None and "refus" not in order.error and "polic" not in order.error:
            calls.append(ReplyCall(before.name, before.arguments))
    return calls


def failed(state: ShownState) -> list[ShownOrder]:
    """Return the newest order of each work, if it ended badly; the state lists orders oldest first."""
    newest = {order.title: order for order in state.orders}
    return [order for order in newest.values() if order.bad]


def checklist_call(state: ShownState, request: StoryRequest) -> ReplyCall | None:
    """Return the call that marks open steps, with evidence; None if none can be marked or it was already made."""
    if any(made.name == "update_checklist" for made in request.made[_last_making(request.made) :]):
        return None
    bad = {order.title for order in failed(state)}
    changes = [_change(item, state, request, bad) for item in state.checklist if item.left]
    kept = [change for change in changes if change is not None]
    return ReplyCall("update_checklist", {"changes": kept}) if kept else None


def finish_call(state: ShownState, request: StoryRequest, works: Sequence[str]) -> ReplyCall | None:
    """Return the call that finishes the task; None if a work failed or the call was already made."""
    if failed(state) or any(made.name == "finish" for made in request.made):
        return None
    return ReplyCall("finish", {"summary": phrase(state.language, "done", works=", ".join(works))})


def report(state: ShownState, works: Sequence[str]) -> StandinReply:
    """Tell the person which works are done and which failed."""
    lines = [
        phrase(state.language, "failed", title=order.title, error=order.error or order.state) for order in failed(state)
    ]
    bad = {order.title for order in failed(state)}
    good = [title for title in works if title not in bad]
    if good:
        lines.insert(0, phrase(state.language, "done", works=", ".join(good)))
    return StandinReply("\n".join(lines))


def _change(item: ShownStep, state: ShownState, request: StoryRequest, bad: set[str]) -> dict[str, object] | None:
    if item.title in bad:
        return {"n": item.n, "status": "blocked"} if item.status != "blocked" else None
    evidence = _evidence(item, state, request)
    if not evidence or (bad and item.n == len(state.checklist)):
        return None
    return {"n": item.n, "status": "done", "evidence": evidence}


def _evidence(item: ShownStep, state: ShownState, request: StoryRequest) -> list[dict[str, str]]:
    exact = [work for work in state.objects if work.title == item.title]
    if exact:
        return [{"kind": "object", "id": exact[-1].id}]
    if item.n == 1 and request.message_ids:
        return [{"kind": "message", "id": request.message_ids[0]}]
    return [{"kind": "object", "id": work.id} for work in state.objects]


def _last_making(made: Sequence[ModelCall]) -> int:
    """Return the place after the last call that made or changed a work."""
    places = [n for n, one in enumerate(made) if one.name.startswith(("generate_", "write_document", "edit_document"))]
    return places[-1] + 1 if places else 0
