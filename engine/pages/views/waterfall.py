"""Waterfall of a run: a line for each step on one time axis, a pure function of the stored run and the time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.history.runs import name_step_status
from engine.pages.site.text import Excerpt, lay_out_error, lay_out_memo, make_excerpt, name_step_kind
from engine.pages.views.run_detail import RunPageData
from engine.rows import Row
from engine.runs.steps import BROKEN, DISCOVER, TIMED_OUT
from engine.storage.queue import CLAIMED, PARKED
from engine.storage.tables import FAILED

AXIS_LENGTH = 1000
_MIN_WIDTH = 4


@dataclass(frozen=True)
class WaterfallBar:
    """A bar on an axis of 1000 units; `look` is waited, running, completed, failed or cancelled."""

    x: int
    width: int
    look: str


@dataclass(frozen=True)
class WaterfallAttempt:
    """An attempt, numbered from 1; `error` is None when it succeeded or is under way."""

    number: int
    began: int
    ended: int | None
    error: Excerpt | None


@dataclass(frozen=True)
class WaterfallLine:
    """The line of a step, or of the code outside of steps, whose `step_id` is empty.

    `note` says what it waits for, `until` how long.
    """

    step_id: str
    name: str
    kind: str
    status: str
    queued: int
    began: int | None
    ended: int | None
    tries: Sequence[WaterfallAttempt]
    output: Excerpt | None
    bars: Sequence[WaterfallBar]
    note: str | None = None
    until: int | None = None
    invoked: str | None = None


@dataclass(frozen=True)
class _Axis:
    begins: int
    span: int

    def bar(self, began: int, ended: int, look: str) -> WaterfallBar:
        x = min(max((began - self.begins) * AXIS_LENGTH // self.span, 0), AXIS_LENGTH - _MIN_WIDTH)
        width = max((ended - began) * AXIS_LENGTH // self.span, _MIN_WIDTH)
        return WaterfallBar(x, min(width, AXIS_LENGTH - x), look)


def draw_waterfall(detail: RunPageData, now: int) -> list[WaterfallLine]:
    """Return the lines of the steps in the order in which the app reported them, then that of the code, if any."""
    run = detail.run
    ends = run.ended_at or now
    axis = _Axis(run.queued_at, max(ends - run.queued_at, 1))
    failed: dict[str, list[Row]] = {}
    for row in detail.attempts:
        failed.setdefault(row.step_id, []).append(row)
    # A step that the app runs during a discovery call has no queue item; the item of that call is used for it.
    waiting = {row.step_id: row for row in detail.open_items}
    lines = [_make_step_line(detail, step, failed.get(step.step_id, []), waiting, axis, ends) for step in detail.steps]
    code_line = _make_code_line(detail, failed.get("", []), waiting.get(DISCOVER), axis, now)
    return lines if code_line is None else [*lines, code_line]


def _make_step_line(
    detail: RunPageData, step: Row, failed: Sequence[Row], waiting: dict[str, Row], axis: _Axis, ends: int
) -> WaterfallLine:
    over = step.position is not None
    status = name_step_status(detail.run, step)
    item = waiting.get(step.step_id) or (waiting.get(DISCOVER) if failed and not over else None)
    tries = _make_attempts(failed, detail.text_limit)
    output = None
    if over and step.text is not None and step.op != "Sleep":
        output = make_excerpt(step.text, step.whole, detail.text_limit, lay_out_memo)
    if failed and over:
        tries.append(
            WaterfallAttempt(len(tries) + 1, step.started_at, step.ended_at, output if step.status == BROKEN else None)
        )
    note, until = _describe_wait(detail, step, item, over)
    began = failed[0].started_at if failed else step.started_at
    return WaterfallLine(
        step_id=step.step_id,
        name=step.name,
        kind=name_step_kind(step.op),
        status=status,
        queued=step.queued_at,
        began=began,
        ended=step.ended_at,
        tries=tries,
        output=output,
        bars=list(_bars(axis, step, failed, status, ends)),
        note=note,
        until=until,
        invoked=detail.invoked.get(step.step_id),
    )


def _make_code_line(
    detail: RunPageData, failed: Sequence[Row], item: Row | None, axis: _Axis, now: int
) -> WaterfallLine | None:
    """Make the line of the code outside of steps, if it failed, is being called or waits to be called."""
    run = detail.run
    if not failed and (item is None or run.ended_at is not None):
        return None
    bars = [axis.bar(row.started_at, row.ended_at, "failed") for row in failed]
    tries = _make_attempts(failed, detail.text_limit)
    note = until = None
    status = run.status
    if run.ended_at is not None:
        last = (
            None
            if run.status != FAILED
            else make_excerpt(run.output_text, run.output_whole, detail.text_limit, lay_out_error)
        )
        tries.append(WaterfallAttempt(len(tries) + 1, run.ended_at, run.ended_at, last))
        bars.append(axis.bar(run.ended_at, run.ended_at, run.status.lower()))
    elif item is not None:
        note, until = _describe_call(item)
        status = "RUNNING" if item.state == CLAIMED else "WAITING"
        bars.append(axis.bar(min(item.created_at, now), now, "running" if item.state == CLAIMED else "waited"))
    began = failed[0].started_at if failed else None
    return WaterfallLine(
        "", "the function itself", "call", status, run.queued_at, began, run.ended_at, tries, None, bars, note, until
    )


def _bars(axis: _Axis, step: Row, failed: Sequence[Row], status: str, ends: int) -> Iterator[WaterfallBar]:
    ended = step.ended_at or ends
    starts = failed[0].started_at if failed else step.started_at or ended
    if starts > step.queued_at:
        yield axis.bar(step.queued_at, starts, "waited")
    if failed and failed[-1].ended_at < ended:
        yield axis.bar(failed[0].started_at, ended, "waited")
    for row in failed:
        yield axis.bar(row.started_at, row.ended_at, "failed")
    if step.started_at is not None:
        yield axis.bar(step.started_at, ended, status.lower())


def _make_attempts(failed: Sequence[Row], limit: int) -> list[WaterfallAttempt]:
    return [
        WaterfallAttempt(number, row.started_at, row.ended_at, make_excerpt(row.text, row.whole, limit, lay_out_error))
        for number, row in enumerate(failed, 1)
    ]


def _describe_wait(detail: RunPageData, step: Row, item: Row | None, over: bool) -> tuple[str | None, int | None]:
    if step.status == TIMED_OUT:
        return "no event came in time", None
    if over or detail.run.ended_at is not None:
        return None, None
    if (wait := detail.waits.get(step.step_id)) is not None:
        condition = f" where {wait.expression}" if wait.expression else ""
        return f"waits for the event {wait.event_name}{condition}, until", wait.expires_at
    if item is None:
        return None, None
    match item.kind:
        case "sleep":
            return "sleeps until", item.due_at
        case "invoke_timeout":
            return "waits for the invoked function, until", item.due_at
        case _:
            return _describe_call(item)


def _describe_call(item: Row) -> tuple[str, int | None]:
    attempt = f"attempt {item.attempt + 1} of {item.max_attempts}"
    if item.state == CLAIMED:
        return f"{attempt} is under way", None
    if item.state == PARKED:
        return f"{attempt} waits for a concurrency limit: {item.blocked_on}", None
    return f"{attempt} waits until", item.due_at
