"""The worker of a task: which behaviour is due, by what it is shown."""

from __future__ import annotations

from collections.abc import Sequence, Set

from app.standins.model.conversation import Conversation, Input, Made
from app.standins.model.reply import Call, Reply
from app.standins.model.rules import followup, ordering, planning, reporting
from app.standins.model.rules.intent import Intent
from app.standins.model.rules.main_thread import answer
from app.standins.model.rules.phrases import phrase
from app.standins.model.rules.shown import State
from app.standins.model.rules.skill_answers import heard
from app.standins.model.rules.skill_work import skill_work
from app.standins.model.rules.story import Request, all_made, requests
from app.standins.model.rules.wish import wish

MOST_TRIES = 3
_BLOCKING = frozenset({"quote", "limit", "irreversible", "checkpoint", "choice", "clarify"})
_MAKERS = frozenset(ordering.TOOL_OF.values())
_ACTING = (Intent.MAKE, Intent.CHANGE, Intent.ADD)


def work(conversation: Conversation, state: State, tools: Set[str]) -> Reply:
    """The next decision of a task's worker."""
    conversation = heard(conversation)
    asked = requests(conversation) or [_from_goal(state)]
    newest = asked[-1]
    if newest.intent is Intent.FORBIDDEN:
        return Reply(refusal=phrase(state.language, "decline"))
    if newest.intent is Intent.CANCEL:
        return _call_off(newest, state, tools)
    return (
        _held_up(conversation, state, tools)
        or skill_work(conversation, asked, state, tools)
        or _go_on(conversation, state, tools, asked)
    )


def _held_up(conversation: Conversation, state: State, tools: Set[str]) -> Reply | None:
    """A person has to decide first, or a lost call has to be looked up first."""
    if any(card.get("kind") in _BLOCKING for card in state.open_cards):
        return Reply(phrase(state.language, "waiting_for_you"))
    if _asked_to_change(conversation):
        return Reply(phrase(state.language, "what_to_change"))
    unknown = _unknown(conversation) if "check_call" in tools else None
    return Reply(calls=[Call("check_call", {"call_id": unknown})]) if unknown else None


def _asked_to_change(conversation: Conversation) -> bool:
    """A card was answered with "change something", and nothing said what."""
    last = conversation.events[-1] if conversation.events else None
    if not isinstance(last, Input) or last.kind != "answer":
        return False
    return last.facts.get("option") in {"change", "adjust"} and not last.facts.get("text")


def _go_on(conversation: Conversation, state: State, tools: Set[str], asked: list[Request]) -> Reply:
    request = next((one for one in reversed(asked) if one.intent in _ACTING), None)
    if request is None:
        return _talk(conversation, asked[-1], state, tools)
    if request.refused:
        return Reply(phrase(state.language, "refused_quote"))
    reply = _act(conversation, request, state, tools, asked)
    only_words = request is not asked[-1] and not reply.calls and not any(order.open for order in state.orders)
    return _talk(conversation, asked[-1], state, tools) if only_words else reply


def _act(conversation: Conversation, request: Request, state: State, tools: Set[str], asked: list[Request]) -> Reply:
    due, plan = _due(conversation, request, state, tools, asked)
    if plan:
        return Reply(calls=plan)
    left = [call for call in due if not _made(call, request.made)]
    if left:
        return _make(left, request, state, tools)
    if any(order.open for order in state.orders):
        return _under_way(request, due, state)
    if not due and not state.objects and request.intent is Intent.CHANGE:
        return Reply(phrase(state.language, "nothing_to_change"))
    return _close(conversation, request, state, tools, due)


def _make(left: list[Call], request: Request, state: State, tools: Set[str]) -> Reply:
    absent = next((call.name for call in left if call.name not in tools), None)
    if absent:
        return Reply(phrase(state.language, "cannot", tool=absent))
    hopeless = next((call for call in left if _tries(call, request.made) >= MOST_TRIES), None)
    return Reply(_trouble(hopeless, request.made, state)) if hopeless else Reply(calls=left)


def _due(
    conversation: Conversation, request: Request, state: State, tools: Set[str], asked: list[Request]
) -> tuple[list[Call], list[Call]]:
    """The calls that the request needs, and those that write its plan first."""
    if _nothing_yet(conversation, state) or request.intent is Intent.MAKE:
        return _due_at_first(conversation, request, state, tools, asked)
    # Numbers go on from what was there when the message came; what it made since is not counted again.
    made_since = {str(made.arguments.get("title")) for made in request.made if made.name in _MAKERS}
    wanted, before = wish(request.text), _without(state, made_since)
    if request.intent is Intent.ADD or followup.is_of_another_kind(wanted, before):
        return ordering.making_calls(followup.added_works(request, wanted, before), wanted, request, state), []
    return followup.changing_calls(request, state), []


def _due_at_first(
    conversation: Conversation, request: Request, state: State, tools: Set[str], asked: list[Request]
) -> tuple[list[Call], list[Call]]:
    """Nothing is made yet: everything asked for so far is one wish, and a persistent task writes its plan first."""
    said = [one.text for one in asked if one.intent in _ACTING]
    wanted = wish(said[0] if request.intent is Intent.MAKE else "\n".join(said))
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


def _close(conversation: Conversation, request: Request, state: State, tools: Set[str], due: Sequence[Call]) -> Reply:
    again = [call for call in reporting.retry_calls(state, all_made(conversation)) if call.name in tools]
    if again:
        return Reply(calls=again)
    works = [str(call.arguments.get("title")) for call in due if call.arguments.get("title")]
    marks = reporting.checklist_call(state, request) if "update_checklist" in tools else None
    if marks:
        return Reply(calls=[marks])
    end = reporting.finish_call(state, request, works) if "finish" in tools and state.task_kind != "light" else None
    return Reply(calls=[end]) if end else reporting.report(state, works or [work.title for work in state.objects])


def _under_way(request: Request, due: Sequence[Call], state: State) -> Reply:
    if request.intent is Intent.CHANGE and not due:
        return Reply(phrase(state.language, "noted"))
    return _on_the_way(state)


def _on_the_way(state: State) -> Reply:
    """A light task is done with its work: nobody comes back to report."""
    titles = ", ".join(order.title for order in state.orders if order.open)
    name = "under_way_light" if state.task_kind == "light" else "under_way"
    return Reply(phrase(state.language, name, works=titles))


def _call_off(request: Request, state: State, tools: Set[str]) -> Reply:
    calls = [Call("cancel_generation", {"order_id": order.id}) for order in state.orders if order.open]
    left = [call for call in calls if not any(made.arguments == call.arguments for made in request.made)]
    if left and "cancel_generation" in tools:
        return Reply(calls=left)
    return Reply(phrase(state.language, "refused_quote"))


def _talk(conversation: Conversation, request: Request, state: State, tools: Set[str]) -> Reply:
    if any(order.open for order in state.orders):
        return _on_the_way(state)
    return (
        Reply(phrase(state.language, "thanks")) if request.intent is Intent.TALK else answer(conversation, state, tools)
    )


def _unknown(conversation: Conversation) -> str | None:
    """A call whose outcome nobody knows and that has not been looked up."""
    made = all_made(conversation)
    looked = {one.arguments.get("call_id") for one in made if one.name == "check_call"}
    lost = [one.result.get("call_id") for one in made if one.unclear]
    return next((str(call_id) for call_id in lost if call_id and call_id not in looked), None)


def _made(call: Call, made: Sequence[Made]) -> bool:
    return any(_same(call, one) and not one.failed for one in made)


def _tries(call: Call, made: Sequence[Made]) -> int:
    """Failures of this call; arguments that were no JSON stand as {} in the history."""
    return sum(one.failed and one.name == call.name and (not one.arguments or _same(call, one)) for one in made)


def _same(call: Call, made: Made) -> bool:
    keys = ("title", "object_id")
    same_name = call.name == made.name
    return same_name and all(call.arguments.get(key) == made.arguments.get(key) for key in keys)


def _trouble(call: Call, made: Sequence[Made], state: State) -> str:
    last = next(one for one in reversed(made) if one.failed and one.name == call.name)
    told = last.result if isinstance(last.result, dict) else {}
    error = told.get("message") or told.get("detail") or told.get("error") or told.get("status")
    return phrase(state.language, "brought_error", tool=call.name, error=error)


def _nothing_yet(conversation: Conversation, state: State) -> bool:
    made = any(one.name in _MAKERS and not one.failed for one in all_made(conversation))
    return not state.orders and not made and not (state.brief and state.objects)


def _without(state: State, titles: set[str]) -> State:
    made = {one for order in state.orders if order.title in titles for one in order.object_ids}
    kept = [work for work in state.objects if work.id not in made and work.title not in titles]
    orders = [order for order in state.orders if order.title not in titles]
    return State(**{**state.__dict__, "objects": kept, "orders": orders})


def _from_goal(state: State) -> Request:
    return Request(text=state.goal, message_ids=(), attachments=(), intent=Intent.MAKE, after=())
