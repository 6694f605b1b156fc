"""Choose a task's next move after a turn: a pure function over stored facts, without the model's words."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.statuses import FINISHED_STEP_STATUSES, RESTING_TASK_STATUSES, ChecklistStatus, TaskStatus


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
        if step.status is ChecklistStatus.DONE and not step.approved and _asks(facts.autonomy, step):
            return step.n
    return None


def _asks(autonomy: str, step: ChecklistFact) -> bool:
    """An approved plan is run to its end, past all but its mandatory checkpoints; one written anew is asked about."""
    if autonomy == "plan":
        return step.mandatory or not step.planned
    return step.checkpoint or autonomy == "step"
