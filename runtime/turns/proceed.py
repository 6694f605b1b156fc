"""May the task go on by itself? A pure function over stored facts; the model's words are not among them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ChecklistFact:
    """One checklist step: `approved` tells that a person let its checkpoint pass, `planned` that one approved the plan
    it belongs to; `mandatory` checkpoints stop at every level.
    """

    n: int
    status: str
    checkpoint: bool
    approved: bool
    mandatory: bool = False
    planned: bool = True


@dataclass(frozen=True)
class Facts:
    """What is true when a stretch of work ends. `open_orders` are awaited jobs; `progressed` means new results.

    `alone` counts the turns in a row, this one included, that had nothing to read from anybody.
    """

    task_status: str
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
class End:
    """The work is complete."""


@dataclass(frozen=True)
class Stop:
    """No further turn until a person acts."""

    reason: str


@dataclass(frozen=True)
class Wait:
    """Suspend until the orders are final."""

    orders: tuple[str, ...]


@dataclass(frozen=True)
class Gate:
    """A person must answer; `ask_checkpoint` names the step whose checkpoint nobody has asked about yet."""

    ask_checkpoint: int | None


@dataclass(frozen=True)
class Next:
    """Queue the next turn."""


@dataclass(frozen=True)
class NoProgress:
    """Turns went by without a result, or too many without a word from outside; a person is told instead."""

    turns: int


@dataclass(frozen=True)
class Refusal:
    """The model declines the work itself; asking it again is no use, and `done` would be no truth."""


Proceed = End | Stop | Wait | Gate | Next | NoProgress | Refusal


def proceed(facts: Facts) -> Proceed:
    """Figure 9, in its order. Unread input comes before the question of progress; a pause comes before it."""
    if facts.task_status in ("stopped", "archived", "paused", "blocked"):
        return Stop(f"the task is {facts.task_status}")
    if facts.unread:
        return Next()
    if facts.open_orders:
        return Wait(facts.open_orders)
    gate = _gate(facts)
    if gate is not None:
        return gate
    if facts.refused:
        return Refusal()
    if facts.finished or facts.kind == "light" or _complete(facts):
        return End()
    return _next(facts)


def _gate(facts: Facts) -> Gate | None:
    if facts.open_cards:
        return Gate(None)
    waiting_checkpoint = _checkpoint(facts)
    return None if waiting_checkpoint is None else Gate(waiting_checkpoint)


def _next(facts: Facts) -> Next | NoProgress:
    if not facts.progressed and facts.idle_rounds + 1 >= facts.most_idle_rounds:
        return NoProgress(facts.idle_rounds + 1)
    if facts.alone >= facts.most_alone:
        return NoProgress(facts.alone)
    return Next()


def _complete(facts: Facts) -> bool:
    return all(step.status in ("done", "skipped") for step in facts.checklist)


def _checkpoint(facts: Facts) -> int | None:
    for step in facts.checklist:
        if step.status == "done" and not step.approved and _asks(facts.autonomy, step):
            return step.n
    return None


def _asks(autonomy: str, step: ChecklistFact) -> bool:
    """An approved plan is run to its end, past all but its mandatory checkpoints; one written anew is asked about."""
    if autonomy == "plan":
        return step.mandatory or not step.planned
    return step.checkpoint or autonomy == "step"
