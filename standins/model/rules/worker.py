"""Rules for the worker of a task: choose the next behaviour by what the request shows."""

from __future__ import annotations

from collections.abc import Sequence, Set

from standins.model.conversation import Conversation, ModelCall, WorkerInput
from standins.model.reply import ReplyCall, StandinReply
from standins.model.rules import followup, ordering, planning, reporting
from standins.model.rules.intent import Intent
from standins.model.rules.main_thread import answer_main
from standins.model.rules.phrases import phrase
from standins.model.rules.shown_state import ShownState
from standins.model.rules.skill_answers import with_skill_news
from standins.model.rules.skill_work import skill_work
from standins.model.rules.story import StoryRequest, all_made, requests_of
from standins.model.rules.wish import read_work_wish

MOST_TRIES = 3
_BLOCKING = frozenset({"quote", "limit", "irreversible", "checkpoint", "choice", "clarify"})
_MAKERS = frozenset(ordering.TOOL_OF.values())
_ACTING = (Intent.MAKE, Intent.CHANGE, Intent.ADD)


def next_reply(conversation: Conversation, state: ShownState, tools: Set[str]) -> StandinReply:
    """Return the next decision of a task's worker."""
    conversation = with_skill_news(conversation)
    asked = requests_of(conversation) or [_from_goal(state)]
    newest = asked[-1]
    if newest.intent is Intent.FORBIDDEN:
        return StandinReply(refusal=phrase(state.language, "decline"))
    if newest.intent is Intent.CANCEL:
        return _call_off(newest, state, tools)
    return (
        _held_up(conversation, state, tools)
        or skill_work(conversation, asked, state, tools)
        or _go_on(conversation, state, tools, asked)
    )


def _held_up(conversation: Conversation, state: ShownState, tools: Set[str]) -> StandinReply | None:
    """Return the reply while a person has to decide or a lost call has to be looked up; else None."""
    if any(card.get("kind") in _BLOCKING for card in state.open_cards):
        return StandinReply(phrase(state.language, "waiting_for_you"))
    if _asked_to_change(conversation):
        return StandinReply(phrase(state.language, "what_to_change"))
    lost = _lost_call_id(conversation) if "check_call" in tools else None
    return StandinReply(calls=[ReplyCall("check_call", {"call_id": lost})]) if lost else None


def _asked_to_change(conversation: Conversation) -> bool:
    """Whether the last event is a card's answer that wants a change and does not say which."""
    last = conversation.events[-1] if conversation.events else None
    if not isinstance(last, WorkerInput) or last.kind != "answer":
        return False
    return last.facts.get("option") in {"change", "adjust"} and not last.facts.get("text")


def _go_on(conversation: Conversation, state: ShownState, tools: Set[str], asked: list[StoryRequest]) -> StandinReply:
    request = next((one for one in reversed(asked) if one.intent in _ACTING), None)
    if request is None:
        return _talk(conversation, asked[-1], state, tools)
    if request.refused:
        return StandinReply(phrase(state.language, "refused_quote"))
    reply = _act(conversation, request, state, tools, asked)
    only_words = request is not asked[-1] and not reply.calls and not any(order.open for order in state.orders)
    return _talk(conversation, asked[-1], state, tools) if only_words else reply


def _act(
    conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str], asked: list[StoryRequest]
) -> StandinReply:
    due, plan = _due(conversation, request, state, tools, asked)
    if plan:
        return StandinReply(calls=plan)
    left = [call for call in due if not _made(call, request.made)]
    if left:
        return _make(left, request, state, tools)
    if any(order.open for order in state.orders):
        return _under_way(request, due, state)
    if not due and not state.objects and request.intent is Intent.CHANGE:
        return StandinReply(phrase(state.language, "nothing_to_change"))
    return _close(conversation, request, state, tools, due)


def _make(left: list[ReplyCall], request: StoryRequest, state: ShownState, tools: Set[str]) -> StandinReply:
    absent = next((call.name for call in left if call.name not in tools), None)
    if absent:
        return StandinReply(phrase(state.language, "cannot", tool=absent))
    hopeless = next((call for call in left if _tries(call, request.made) >= MOST_TRIES), None)
    return StandinReply(_trouble(hopeless, request.made, state)) if hopeless else StandinReply(calls=left)


def _due(
    conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str], asked: list[StoryRequest]
) -> tuple[list[ReplyCall], list[ReplyCall]]:
    """Return the calls that the request needs, and those that write its plan, which come first."""
    if _nothing_yet(conversation, state) or request.intent is Intent.MAKE:
        return _due_at_first(conversation, request, state, tools, asked)
    # New works are numbered after those that were there when the message came, so leave out what it made since.
    made_since = {str(made.arguments.get("title")) for made in request.made if made.name in _MAKERS}
    wanted, before = read_work_wish(request.text), _without(state, made_since)
    if request.intent is Intent.ADD or followup.is_of_another_kind(wanted, before):
        return ordering.making_calls(followup.added_works(request, wanted, before), wanted, request, state), []
    return followup.changing_calls(request, state), []


def _due_at_first(
    conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str], asked: list[StoryRequest]
) -> tuple[list[ReplyCall], list[ReplyCall]]:
    """Return the calls when nothing is made yet: all requests are one wish, and a persistent task plans first."""
    said = [one.text for one in asked if one.intent in _ACTING]
    wanted = read_work_wish(said[0] if request.intent is Intent.MAKE else "\n".join(said))
    lent = next((work.title for work in state.objects), "")
    works = planning.planned_works(wanted, state.language, source=lent)
    making = ordering.making_calls(works, wanted, request, state)
    tried = [made for made in all_made(conversation) if made.name in {"set_brief", "create_checklist"}]
    if state.task_kind == "light" or len(tried) >= 2 * MOST_TRIES:
        return making, []
    writable = tools - {made.name for made in tried if not made.failed}
    brief = not state.brief and "set_brief" in writable
    checklist = not state.checklist and "create_checklist" in writable
    return making, planning.plan_calls(wanted, works, state.language, brief=brief, checklist=checklist)


def _close(
    conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str], due: Sequence[ReplyCall]
) -> StandinReply:
    """Retry failed works, mark the checklist, finish the task, or report: the first of these that is left to do."""
    again = [call for call in reporting.retry_calls(state, all_made(conversation)) if call.name in tools]
    if again:
        return StandinReply(calls=again)
    works = [str(call.arguments.get("title")) for call in due if call.arguments.get("title")]
    marks = reporting.checklist_call(state, request) if "update_checklist" in tools else None
    if marks:
        return StandinReply(calls=[marks])
    end = reporting.finish_call(state, request, works) if "finish" in tools and state.task_kind != "light" else None
    return (
        StandinReply(calls=[end]) if end else reporting.report(state, works or [work.title for work in state.objects])
    )


def _under_way(request: StoryRequest, due: Sequence[ReplyCall], state: ShownState) -> StandinReply:
    if request.intent is Intent.CHANGE and not due:
        return StandinReply(phrase(state.language, "noted"))
    return _on_the_way(state)


def _on_the_way(state: ShownState) -> StandinReply:
    """Say which works are being made. A light task ends here, so it does not promise a report."""
    titles = ", ".join(order.title for order in state.orders if order.open)
    name = "under_way_light" if state.task_kind == "light" else "under_way"
    return StandinReply(phrase(state.language, name, works=titles))


def _call_off(request: StoryRequest, state: ShownState, tools: Set[str]) -> StandinReply:
    calls = [ReplyCall("cancel_generation", {"order_id": order.id}) for order in state.orders if order.open]
    left = [call for call in calls if not any(made.arguments == call.arguments for made in request.made)]
    if left and "cancel_generation" in tools:
        return StandinReply(calls=left)
    return StandinReply(phrase(state.language, "refused_quote"))


def _talk(conversation: Conversation, request: StoryRequest, state: ShownState, tools: Set[str]) -> StandinReply:
    if any(order.open for order in state.orders):
        return _on_the_way(state)
    return (
        StandinReply(phrase(state.language, "thanks"))
        if request.intent is Intent.TALK
        else answer_main(conversation, state, tools)
    )


def _lost_call_id(conversation: Conversation) -> str | None:
    """Return the id of a call with an unknown outcome that was not looked up; None if there is none."""
    made = all_made(conversation)
    looked = {one.arguments.get("call_id") for one in made if one.name == "check_call"}
    lost = [one.result.get("call_id") for one in made if one.unclear]
    return next((str(call_id) for call_id in lost if call_id and call_id not in looked), None)


def _made(call: ReplyCall, made: Sequence[ModelCall]) -> bool:
    return any(_same(call, one) and not one.failed for one in made)


def _tries(call: ReplyCall, made: Sequence[ModelCall]) -> int:
    """Count the failures of this call. Arguments that were not JSON are {} in the history, and count too."""
    return sum(one.failed and one.name == call.name and (not one.arguments or _same(call, one)) for one in made)


def _same(call: ReplyCall, made: ModelCall) -> bool:
    """Whether both are calls of one tool for the same work."""
    keys = ("title", "object_id")
    same_name = call.name == made.name
    return same_name and all(call.arguments.get(key) == made.arguments.get(key) for key in keys)


def _trouble(call: ReplyCall, made: Sequence[ModelCall], state: ShownState) -> str:
    last = next(one for one in reversed(made) if one.failed and one.name == call.name)
    told = last.result if isinstance(last.result, dict) else {}
    error = told.get("message") or told.get("detail") or told.get("error") or told.get("status")
    return phrase(state.language, "brought_error", tool=call.name, error=error)


def _nothing_yet(conversation: Conversation, state: ShownState) -> bool:
    made = any(one.name in _MAKERS and not one.failed for one in all_made(conversation))
    return not state.orders and not made and not (state.brief and state.objects)


def _without(state: ShownState, titles: set[str]) -> ShownState:
    """Return the state without the works and orders of these titles."""
    made = {one for order in state.orders if order.title in titles for one in order.object_ids}
    kept = [work for work in state.objects if work.id not in made and work.title not in titles]
    orders = [order for order in state.orders if order.title not in titles]
    return ShownState(**{**state.__dict__, "objects": kept, "orders": orders})


def _from_goal(state: ShownState) -> StoryRequest:
    return StoryRequest(text=state.goal, message_ids=(), attachments=(), intent=Intent.MAKE, after=())
