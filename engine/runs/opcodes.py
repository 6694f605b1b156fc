"""Opcodes of an app's answer: store each step and do what it asks for (run, sleep, wait, invoke)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import bindparam, update

from engine.calls.outcome import CallOutcome, Opcode
from engine.expressions import Expression, ExpressionError, compile_expression
from engine.formats.clock import parse_duration, parse_time
from engine.formats.json_text import dumps, loads
from engine.rows import Row
from engine.runs.invocation import begin_invoke
from engine.runs.lifecycle import change_run, lock_run
from engine.runs.pauses import WAIT, add_pause
from engine.runs.steps import (
    BROKEN,
    ERRORED,
    OPEN,
    EngineStep,
    call_step,
    complete_step,
    error_memo,
    find_step,
    limits_of,
    open_step,
)
from engine.settings import YEAR_MS, too_large
from engine.storage.queue import GATEWAY, SLEEP, WAIT_TIMEOUT, QueueItem, put_item
from engine.storage.tables import steps
from engine.storage.transaction import AppCall, Transaction

STATE_OVERFLOW = "InngestErrStateOverflowed"
_RUN_BY_APP = frozenset({"StepRun", "Step", "StepError", "StepFailed"})
_REOPEN = (
    update(steps)
    .where(steps.c.run_id == bindparam("run"), steps.c.step_id == bindparam("step"))
    .values(status=OPEN, race=bindparam("racing"))
)


class RunFailure(Exception):
    """An opcode that the run cannot survive; `name` is the name of the run's error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def apply_opcodes(
    tx: Transaction, run: Row, call: AppCall, outcome: CallOutcome, opcodes: Sequence[Opcode]
) -> dict[str, Any] | None:
    """Store and carry out all opcodes; returns the error (with the step's `id`) when one step must be tried again.

    Raises:
        RunFailure: the run fails with this error.
    """
    _check_size(tx, run, opcodes)
    if len(opcodes) > 1 and not run.plan_only:
        change_run(tx, run.id, plan_only=True)
    retried = None
    # Open all steps before completing any: a parallel group ends when its last open step is done.
    fresh = [(code, step) for code in opcodes if (step := _prepare_step(tx, run, code)) is not None]
    current = run
    for index, (code, step) in enumerate(sorted(fresh, key=lambda pair: pair[0].op != "WaitForEvent")):
        if index > 0 or len(opcodes) > 1:
            locked = lock_run(tx, run.id)
            if locked is None:
                return None
            current = locked
        if code.op == "StepError" and not outcome.no_retry and call.attempt + 1 < call.max_attempts:
            if not step.stored:
                open_step(tx, run.id, step)
            retried = {**(code.error or {}), "id": code.id}
        else:
            _apply(tx, current, call, outcome, code, step)
    return retried


def _check_size(tx: Transaction, run: Row, opcodes: Sequence[Opcode]) -> None:
    settings = tx.settings
    if run.stack_len + len(opcodes) > settings.max_steps + 1 or len(opcodes) > settings.max_steps:
        raise RunFailure(
            "InngestErrFunctionOverflowed", f"The function run exceeded the step limit of {settings.max_steps} steps."
        )
    for code in opcodes:
        if code.size > settings.max_step_output:
            what = f"the output of step {code.display_name!r}"
            raise RunFailure(STATE_OVERFLOW, too_large(what, code.size, settings.max_step_output))
    total = run.state_size + sum(code.size for code in opcodes)
    if total > settings.max_state:
        raise RunFailure(STATE_OVERFLOW, too_large("the run's state", total, settings.max_state))


def _prepare_step(tx: Transaction, run: Row, code: Opcode) -> EngineStep | None:
    """Return the step of an opcode, opened in the database if it waits; None when it is done or already under way."""
    step = find_step(tx, run.id, code.id)
    run_by_app = code.op in _RUN_BY_APP
    if step is None:
        status = ERRORED if run_by_app else OPEN
        step = EngineStep(code.id, code.op, code.display_name, code.race, status, None, tx.now, stored=not run_by_app)
        if not run_by_app:
            open_step(tx, run.id, step)
        return step
    if step.position is not None:
        return None
    if run_by_app:
        return step
    if step.status == ERRORED:
        tx.run_later(_REOPEN, {"run": run.id, "step": code.id, "racing": code.race})
        return replace(step, status=OPEN, race=code.race)
    return None


def _apply(tx: Transaction, run: Row, call: AppCall, outcome: CallOutcome, code: Opcode, step: EngineStep) -> None:
    match code.op:
        case "StepRun" | "Step":
            memo = dumps({"data": code.data})
            complete_step(tx, run, step, memo, attempt=call.attempt, started_at=outcome.started_at)
        case "StepError" | "StepFailed":
            error = code.error or {}
            memo = error_memo(error.get("name") or "Error", error.get("message") or "", error.get("stack"))
            complete_step(tx, run, step, memo, outcome=BROKEN, attempt=call.attempt, started_at=outcome.started_at)
        case "StepPlanned":
            call_step(tx, run, code.id)
        case "Sleep":
            put_item(tx, QueueItem(SLEEP, _wake_time(tx, code), run_id=run.id, step_id=code.id))
        case "WaitForEvent":
            _wait_for_event(tx, run, code)
        case "InvokeFunction":
            payload = code.opts.get("payload") or {}
            timeout = code.opts.get("timeout")
            expires_at = tx.now + (_parse_duration(timeout) if timeout else YEAR_MS)
            begin_invoke(tx, run, step, str(code.opts.get("function_id")), payload.get("data") or {}, expires_at)
        case "AIGateway":
            function = tx.registry.by_id[run.function_id]
            put_item(
                tx,
                QueueItem(
                    GATEWAY,
                    tx.now,
                    run_id=run.id,
                    step_id=code.id,
                    max_attempts=function.retries + 1,
                    limits=limits_of(run),
                    body=dumps(code.opts),
                ),
            )
        case _:
            raise RunFailure("Error", f"the app sent the opcode {code.op}, which this engine does not know")


def _wake_time(tx: Transaction, code: Opcode) -> int:
    try:
        wake = parse_time(code.name)
    except ValueError:
        wake = tx.now + _parse_duration(code.name)
    if wake - tx.now > YEAR_MS:
        raise RunFailure("InngestErrTimeoutTooLong", "a sleep may last at most 366 days")
    return wake


def _wait_for_event(tx: Transaction, run: Row, code: Opcode) -> None:
    timeout = _parse_duration(str(code.opts.get("timeout") or "365d"))
    if timeout > YEAR_MS:
        raise RunFailure("InngestErrTimeoutTooLong", "a wait may last at most 366 days")
    expires_at = tx.now + timeout
    trigger = loads(run.events)[0]
    expression = _compile(code.opts.get("if"))
    add_pause(
        tx, WAIT, run.id, code.name, expires_at=expires_at, step_id=code.id, expression=expression, trigger=trigger
    )
    put_item(tx, QueueItem(WAIT_TIMEOUT, expires_at, run_id=run.id, step_id=code.id))


def _compile(text: str | None) -> Expression | None:
    if not text:
        return None
    try:
        return compile_expression(text)
    except ExpressionError as error:
        raise RunFailure("CompileError", f"the expression of a wait is wrong: {error}") from error


def _parse_duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise RunFailure("Error", str(error)) from error
