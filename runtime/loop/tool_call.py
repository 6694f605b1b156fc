"""One tool call of a decision: its start is stored before the tool runs, its result after.

A call that may have begun before a crash is run again only if its tool is repeatable.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from core.database import Scope
from core.errors import BusyError, LoopwrightError, LostError, UnavailableError
from core.process import crash
from core.tools import CallContext, Effect, Tool, ToolResult, is_held_at_checkpoint
from runtime.dependencies import RuntimeDependencies
from runtime.inbox import messages
from runtime.limits import guard
from runtime.statuses import FINISHED_CALL_STATUSES, CallStatus
from runtime.turns import ledger, ledger_queries, proceed, snapshot
from runtime.turns.lease import TurnFence, acquire_turn_lease, renew_while
from runtime.turns.ledger import Call
from runtime.turns.rows import Turn
from runtime.turns.snapshot import CallSnapshot

_REPEATED_CALL = ToolResult(
    {
        "error": "repeated",
        "message": f"this very call was made in {proceed.MOST_REPEATS} steps and its result does not change: go on "
        "from there, or answer without calls",
    },
    ok=False,
)


@dataclass(frozen=True)
class CallEnd:
    """The stored status of a call; `ends` is true where it was a successful `finish`."""

    status: CallStatus
    ends: bool


def run_call(
    dependencies: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str, n: int, seq: int
) -> CallEnd:
    """Return the stored end of a call, or run the tool and store its result.

    Raises LostError, BusyError and UnavailableError.
    """
    call_id = f"{turn_id}:{n}:{seq}"
    with acquire_turn_lease(
        dependencies.database, workspace_id, turn_id, run_id, dependencies.lease, "call.started"
    ) as (
        scope,
        fence,
        turn,
    ):
        # Main has no task, and so no snapshot.
        before = None if turn.task_id is None else snapshot.read_before_call(scope, turn.task_id, call_id)
        call = ledger_queries.get_call(scope, call_id) if before is None else before.call
        if call.status in FINISHED_CALL_STATUSES:
            fence.release(scope)
            return _call_end(call)
        context = _context(scope, dependencies, fence, workspace_id, turn, call, before)
        known = dependencies.tools_for(context.task_id)
        tool = known.get(call.tool)
        arguments = _parse_arguments(tool, call, known)
        if tool is None or isinstance(arguments, ToolResult):
            assert isinstance(arguments, ToolResult)
            ledger.record_result(scope, fence, call, CallStatus.FAILED, arguments)
            return CallEnd(CallStatus.FAILED, False)
        if call.status == CallStatus.PROPOSED and _is_repeated(scope, call, before):
            ledger.record_result(scope, fence, call, CallStatus.FAILED, _REPEATED_CALL)
            return CallEnd(CallStatus.FAILED, False)
        if refused := _refused(scope, tool, context):
            ledger.record_result(scope, fence, call, CallStatus.FAILED, refused)
            return CallEnd(CallStatus.FAILED, False)
        if call.status == CallStatus.STARTED and not tool.repeatable:
            unknown = ToolResult({"status": CallStatus.OUTCOME_UNKNOWN, "call_id": call.id}, ok=False)
            ledger.record_result(scope, fence, call, CallStatus.OUTCOME_UNKNOWN, unknown)
            return CallEnd(CallStatus.OUTCOME_UNKNOWN, False)
        ledger.record_start(scope, fence, call_id)
    with renew_while(dependencies.database, workspace_id, fence, dependencies.lease):
        try:
            result = _act(tool, context, arguments)
        except UnavailableError:
            _record_no_start(dependencies, workspace_id, fence, call_id)
            raise
        status = CallStatus.DONE if result.ok else CallStatus.FAILED
        try:
            with dependencies.database.transaction(workspace_id, "call.result") as scope:
                ledger.record_result(scope, fence, call, status, result)
        except LostError:
            with dependencies.database.transaction(workspace_id, "call.late_result") as scope:
                ledger.record_late_result(scope, fence, call, status, result)
            raise
    return CallEnd(status, ends=call.tool == "finish" and result.ok)


def _is_repeated(scope: Scope, call: Call, before: CallSnapshot | None) -> bool:
    # The snapshot counts the same calls whatever their results, which nearly always answers without another query.
    if before is not None and before.earlier_successes < proceed.MOST_REPEATS:
        return False
    return proceed.is_made_often(call.effect, ledger_queries.list_same_calls(scope, call))


def _refused(scope: Scope, tool: Tool, context: CallContext) -> ToolResult | None:
    """Refuse a call that the person's role does not allow, or that has to wait for the answer to a checkpoint.

    Paid tools call the whole guard themselves.
    """
    if tool.effect not in (Effect.WRITE, Effect.IRREVERSIBLE):
        return None
    refused = guard.refuse_by_role(tool.effect, guard.read_role(scope, context.person_id))
    if refused is None and is_held_at_checkpoint(tool):
        refused = guard.refuse_at_checkpoint(tool.effect, guard.has_open_checkpoint(scope, context.task_id))
    return None if refused is None else ToolResult({"error": refused.rule, "message": refused.reason}, ok=False)


def _record_no_start(dependencies: RuntimeDependencies, workspace_id: str, fence: TurnFence, call_id: str) -> None:
    """Record that the tool has begun nothing, so that the retry may run it even if it is not repeatable."""
    with dependencies.database.transaction(workspace_id, "call.start_taken_back") as scope:
        fence.check(scope)
        ledger.record_no_start(scope, fence, call_id)


def _call_end(call: Call) -> CallEnd:
    return CallEnd(call.status, ends=call.tool == "finish" and call.status == CallStatus.DONE)


def _act(tool: Tool, context: CallContext, arguments: BaseModel) -> ToolResult:
    try:
        with crash.around("call.act"):
            return tool.run(context, arguments)
    except (LostError, BusyError, UnavailableError):
        raise
    except LoopwrightError as error:
        # The model can act on a domain error; any other error goes through to the engine.
        return ToolResult({"error": error.code, "message": str(error), **error.facts()}, ok=False)


def _context(
    scope: Scope,
    dependencies: RuntimeDependencies,
    fence: TurnFence,
    workspace_id: str,
    turn: Turn,
    call: Call,
    before: CallSnapshot | None,
) -> CallContext:
    if before is not None:
        person_id, asked_by, language = before.person_id, before.asked_by, before.language
    else:
        message = messages.get_message(scope, turn.message_id or "")
        person_id, asked_by, language = message.person_id, message.asked_by, message.language or "en"
    return CallContext(
        database=dependencies.database,
        fence=fence,
        workspace_id=workspace_id,
        person_id=person_id,
        asked_by=asked_by,
        task_id=turn.task_id,
        turn_id=turn.id,
        call_id=call.id,
        language=language,
    )


def _parse_arguments(tool: Tool | None, call: Call, known: Any) -> BaseModel | ToolResult:
    """Parse a call's arguments; return a failed result for an unknown tool (None) or arguments that do not fit."""
    if tool is None:
        return ToolResult({"message": f"there is no tool {call.tool}; there are {', '.join(sorted(known))}"}, ok=False)
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return ToolResult(
            {"message": f"the arguments are no JSON ({error}); send one JSON object", "began": call.arguments[:200]},
            ok=False,
        )
    if not isinstance(given, dict):
        return ToolResult({"message": f"the arguments are a JSON {type(given).__name__}; send one object"}, ok=False)
    try:
        return tool.arguments.model_validate(given)
    except ValidationError as error:
        faults = [f"{'.'.join(str(part) for part in e['loc']) or 'arguments'}: {e['msg']}" for e in error.errors()]
        return ToolResult({"message": "the arguments do not fit: " + "; ".join(faults[:8])}, ok=False)
