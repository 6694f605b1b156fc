"""Decide what comes after a turn, and whether it goes round in circles: pure functions over stored facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.tools import Effect
from runtime.statuses import FINISHED_STEP_STATUSES, RESTING_TASK_STATUSES, ChecklistStatus, TaskStatus

MOST_REPEATS = 3
"""In how many steps of one turn the same call may come to the same end."""
_LONGEST_REASON = 300
_FREE = (Effect.READ.value, Effect.WRITE.value)


@dataclass(frozen=True)
class EarlierCall:
    """An earlier call: in which step, and what came of it."""

    step: int
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class FailedCall:
    """A call that failed; `wish` is what was asked for, `result` what it was told."""

    step: int
    tool: str
    wish: str
    result: Mapping[str, Any] | None = None

    @property
    def reason(self) -> str:
        """Why, in a line that fits a card; empty where that was not said."""
        said = (self.result or {}).get("message")
        return " ".join(said.split())[:_LONGEST_REASON] if isinstance(said, str) else ""


def digest_wish(tool: str, arguments: str) -> str:
    """The same for two calls that ask for the same: the order and spacing of their arguments is no difference."""
    try:
        asked = json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        asked = arguments
    return hashlib.sha256(f"{tool} {asked}".encode("utf-8", "replace")).hexdigest()


def is_made_often(effect: str, same: Sequence[EarlierCall]) -> bool:
    """Whether the turn has made a call in `MOST` earlier steps, with one and the same result; `same` are its likes.

    Acts that cost money or destroy are the same by their arguments alone: each answers with an id of its own.
    """
    if effect not in _FREE:
        return _count_steps([one.step for one in same]) >= MOST_REPEATS
    results: dict[str, list[int]] = {}
    for one in same:
        results.setdefault(json.dumps(one.result, sort_keys=True), []).append(one.step)
    return any(_count_steps(alike) >= MOST_REPEATS for alike in results.values())


def find_repeated_failure(failed: Sequence[FailedCall]) -> FailedCall | None:
    """A call that has failed alike in `MOST` steps of the turn, as it did last; None when there is none."""
    steps: dict[str, list[int]] = {}
    for one in failed:
        steps.setdefault(one.wish, []).append(one.step)
    return next((one for one in reversed(failed) if _count_steps(steps[one.wish]) >= MOST_REPEATS), None)


def _count_steps(made: Sequence[int]) -> int:
    return len(set(made))


@dataclass(frozen=True)
class ChecklistFact:
    """One checklist step: `approved` tells that a person let its checkpoint pass, `planned` that one approved the plan
    it belongs to; `mandatory` checkpoints stop at every level.
    """

    n: int
    status: ChecklistStatus
    checkpoint: bool
    approved: bool
    mandatory: bool = False
    planned: bool = True


@dataclass(frozen=True)
class TurnFacts:
    """What is true when a stretch of work ends. `open_orders` are awaited jobs; `progressed` means new results.

    `alone` counts the turns in a row, this one included, that had nothing to read from anybody.
    """

    task_status: TaskStatus
    kind: str
    autonomy: str
    checklist: tuple[ChecklistFact, ...]
    open_orders: tuple[str, ...]
    open_cards: tuple[str, ...]
    unread: bool
    progressed: bool
    idle_rounds: int
    most_idle_rounds: int
    finished: bool
    refused: bool
    alone: int = 0
    most_alone: int = 20


@dataclass(frozen=True)
class EndTask:
    """The work is complete."""


@dataclass(frozen=True)
class NoFurtherTurn:
    """No further turn until a person acts."""

    reason: str


@dataclass(frozen=True)
class WaitForOrders:
    """Suspend until the orders are final."""

    orders: tuple[str, ...]


@dataclass(frozen=True)
class AskPerson:
    """A person must answer; `ask_checkpoint` names the step whose checkpoint nobody has asked about yet."""

    ask_checkpoint: int | None


@dataclass(frozen=True)
class NextTurn:
    """Queue the next turn."""


@dataclass(frozen=True)
class ReportNoProgress:
    """Turns went by without a result, or too many without a word from outside; a person is told instead."""

    turns: int


@dataclass(frozen=True)
class ReportRefusal:
    """The model declines the work itself; asking it again is no use, and `done` would be no truth."""


NextMove = EndTask | NoFurtherTurn | WaitForOrders | AskPerson | NextTurn | ReportNoProgress | ReportRefusal


def choose_next_move(facts: TurnFacts) -> NextMove:
    """Return the move of the first rule that applies.

    | no. | rule | move |
    |---|---|---|
    | 1 | the task is stopped, archived, paused or blocked | no further turn |
    | 2 | input is unread | next turn |
    | 3 | orders are open | wait for them |
    | 4 | a card is open | wait for its answer |
    | 5 | a step that is done has a checkpoint that no person let pass | ask about it |
    | 6 | the model refuses the work | report the refusal |
    | 7 | the model said that it has finished, the task is light, or no step is left | end the task |
    | 8 | too many turns in a row brought no progress | report it |
    | 9 | too many turns in a row had no input | report it |
    | 10 | none of these | next turn |

    A person's pause or stop wins over everything, and new input wins over what the task waits for. That the model falls
    silent is no rule: stored facts decide.
    """
    if facts.task_status in (*RESTING_TASK_STATUSES, TaskStatus.BLOCKED):
        return NoFurtherTurn(f"the task is {facts.task_status}")
    if facts.unread:
        return NextTurn()
    if facts.open_orders:
        return WaitForOrders(facts.open_orders)
    gate = _gate(facts)
    if gate is not None:
        return gate
    if facts.refused:
        return ReportRefusal()
    if facts.finished or facts.kind == "light" or _complete(facts):
        return EndTask()
    return _next(facts)


def _gate(facts: TurnFacts) -> AskPerson | None:
    if facts.open_cards:
        return AskPerson(None)
    waiting_checkpoint = _checkpoint(facts)
    return None if waiting_checkpoint is None else AskPerson(waiting_checkpoint)


def _next(facts: TurnFacts) -> NextTurn | ReportNoProgress:
    if not facts.progressed and facts.idle_rounds + 1 >= facts.most_idle_rounds:
        return ReportNoProgress(facts.idle_rounds + 1)
    if facts.alone >= facts.most_alone:
        return ReportNoProgress(facts.alone)
    return NextTurn()


def _complete(facts: TurnFacts) -> bool:
    return all(step.status in FINISHED_STEP_STATUSES for step in facts.checklist)


def _checkpoint(facts: TurnFacts) -> int | None:
    for step in facts.checklist:
        if step.status == ChecklistStatus.DONE and not step.approved and _asks(facts.autonomy, step):
            return step.n
    return None


def _asks(autonomy: str, step: ChecklistFact) -> bool:
    """An approved plan is run to its end, past all but its mandatory checkpoints; one written anew is asked about."""
    if autonomy == "plan":
        return step.mandatory or not step.planned
    return step.checkpoint or autonomy == "step"
