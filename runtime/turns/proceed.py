"""What comes after a turn, and whether it repeats itself: pure functions over stored facts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.tools import Effect
from runtime.statuses import FINISHED_STEP_STATUSES, RESTING_TASK_STATUSES, ChecklistStatus, TaskStatus

MOST_REPEATS = 3
"""In how many steps of one turn the same call may have the same result."""
_LONGEST_REASON = 300
_FREE = (Effect.READ.value, Effect.WRITE.value)


@dataclass(frozen=True)
class EarlierCall:
    """An earlier call: its step and its result."""

    step: int
    result: Mapping[str, Any] | None


@dataclass(frozen=True)
class FailedCall:
    """A call that failed; `wish` is the digest of its tool and arguments, `result` what the model was shown."""

    step: int
    tool: str
    wish: str
    result: Mapping[str, Any] | None = None

    @property
    def reason(self) -> str:
        """The reason of the failure, in one line that fits a card; empty where the result names none."""
        message = (self.result or {}).get("message")
        return " ".join(message.split())[:_LONGEST_REASON] if isinstance(message, str) else ""


def digest_wish(tool: str, arguments: str) -> str:
    """Digest a call's tool and arguments; the order and spacing of the arguments make no difference."""
    try:
        canonical = json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        canonical = arguments
    return hashlib.sha256(f"{tool} {canonical}".encode("utf-8", "replace")).hexdigest()


def is_made_often(effect: str, same: Sequence[EarlierCall]) -> bool:
    """Tell whether a call was made in `MOST_REPEATS` earlier steps with one and the same result.

    `same` holds the turn's earlier calls with the same tool and arguments. The results of calls that cost money or
    destroy are not compared, since each contains a new id.
    """
    if effect not in _FREE:
        return _count_steps([one.step for one in same]) >= MOST_REPEATS
    results: dict[str, list[int]] = {}
    for one in same:
        results.setdefault(json.dumps(one.result, sort_keys=True), []).append(one.step)
    return any(_count_steps(alike) >= MOST_REPEATS for alike in results.values())


def find_repeated_failure(failed: Sequence[FailedCall]) -> FailedCall | None:
    """Return the last failure of a call that has failed in `MOST_REPEATS` steps of the turn, or None."""
    steps: dict[str, list[int]] = {}
    for one in failed:
        steps.setdefault(one.wish, []).append(one.step)
    return next((one for one in reversed(failed) if _count_steps(steps[one.wish]) >= MOST_REPEATS), None)


def _count_steps(step_numbers: Sequence[int]) -> int:
    return len(set(step_numbers))


@dataclass(frozen=True)
class ChecklistFact:
    """One checklist step.

    `approved`: a person let its checkpoint pass. `planned`: a person approved the plan it belongs to. `mandatory`:
    its checkpoint stops the work at every level of autonomy. `stale`: a step it depends on was set back since.
    """

    n: int
    status: ChecklistStatus
    checkpoint: bool
    approved: bool
    mandatory: bool = False
    planned: bool = True
    stale: bool = False


@dataclass(frozen=True)
class TurnFacts:
    """Facts about a task when a turn ends.

    `open_orders` are orders without an end yet; `progressed` means that the turn brought new results or read an input.
    `idle_rounds` counts the turns in a row before this one that did not progress.
    `turns_without_input` counts the turns in a row, this one included, that had no input to read.
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
    turns_without_input: int = 0
    most_turns_without_input: int = 20


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
    """A person must answer; `ask_checkpoint` is the step whose checkpoint needs a card, None where one is open."""

    ask_checkpoint: int | None


@dataclass(frozen=True)
class NextTurn:
    """Queue the next turn."""


@dataclass(frozen=True)
class ReportNoProgress:
    """Too many turns in a row brought no result, or had no input: tell a person instead of going on."""

    turns: int


@dataclass(frozen=True)
class ReportRefusal:
    """The model declines the work: asking it again is no use, and `done` would be untrue."""


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

    A person's pause or stop wins over everything, and new input wins over what the task waits for. A decision without
    calls does not end the task by itself: stored facts decide.
    """
    if facts.task_status in (*RESTING_TASK_STATUSES, TaskStatus.BLOCKED):
        return NoFurtherTurn(f"the task is {facts.task_status}")
    if facts.unread:
        return NextTurn()
    if facts.open_orders:
        return WaitForOrders(facts.open_orders)
    gate = _find_gate(facts)
    if gate is not None:
        return gate
    if facts.refused:
        return ReportRefusal()
    if facts.finished or facts.kind == "light" or _has_no_step_left(facts):
        return EndTask()
    return _go_on_or_report(facts)


def _find_gate(facts: TurnFacts) -> AskPerson | None:
    """Return the question that the task waits for: an open card, or a checkpoint that needs one."""
    if facts.open_cards:
        return AskPerson(None)
    waiting_checkpoint = _find_checkpoint(facts)
    return None if waiting_checkpoint is None else AskPerson(waiting_checkpoint)


def _go_on_or_report(facts: TurnFacts) -> NextTurn | ReportNoProgress:
    if not facts.progressed and facts.idle_rounds + 1 >= facts.most_idle_rounds:
        return ReportNoProgress(facts.idle_rounds + 1)
    if facts.turns_without_input >= facts.most_turns_without_input:
        return ReportNoProgress(facts.turns_without_input)
    return NextTurn()


def _has_no_step_left(facts: TurnFacts) -> bool:
    """Tell whether every step of the checklist is finished; a task without a checklist has none left."""
    return all(step.status in FINISHED_STEP_STATUSES and not step.stale for step in facts.checklist)


def _find_checkpoint(facts: TurnFacts) -> int | None:
    """Return the first step that is done and whose checkpoint no person has let pass."""
    for step in facts.checklist:
        if step.status == ChecklistStatus.DONE and not step.approved and _asks(facts.autonomy, step):
            return step.n
    return None


def _asks(autonomy: str, step: ChecklistFact) -> bool:
    """Tell whether the end of this step needs a person.

    At the level `plan`, an approved plan stops only at mandatory checkpoints; one not yet approved stops at each step.
    """
    if autonomy == "plan":
        return step.mandatory or not step.planned
    return step.checkpoint or autonomy == "step"
