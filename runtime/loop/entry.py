"""Entry of a run into its turn, and the hand-over of a long turn to the next run."""

from __future__ import annotations

from core.database import Scope
from core.events import Bell, MainRequested, TurnRequested
from runtime.dependencies import RuntimeDependencies
from runtime.statuses import FINISHED_CALL_STATUSES, TurnStatus
from runtime.tables import turns
from runtime.turns import ledger_queries, rows
from runtime.turns.lease import enter_turn
from runtime.turns.rows import Turn


def open_turn(parts: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> int | str:
    """The step that the run goes on from, or, where it is not let in, why.

    Raises NotFoundError for a turn that does not exist.
    """
    with parts.database.transaction(workspace_id, "turn.opened") as scope:
        if not enter_turn(scope, turn_id, run_id, parts.patience):
            turn = rows.get_turn(scope, turn_id)
            return f"not let in: the turn is {turn.status}"
        return _first_open_step(scope, turn_id)


def _first_open_step(scope: Scope, turn_id: str) -> int:
    """The step after the last one whose calls all have results; a step without calls is the one to close after."""
    taken = ledger_queries.list_steps(scope, [turn_id])
    if not taken:
        return 1
    made = ledger_queries.list_calls_of_step(scope, turn_id, taken[-1].n)
    complete = bool(made) and all(call.status in FINISHED_CALL_STATUSES for call in made)
    finished = any(call.tool == "finish" and call.ok for call in made)
    return taken[-1].n + 1 if complete and not finished else taken[-1].n


def hand_over_turn(parts: RuntimeDependencies, workspace_id: str, turn_id: str, run_id: str) -> str:
    """Give up the run's hold and ring for the same turn, whose next run goes on where this one ends."""
    with parts.database.transaction(workspace_id, "turn.handed_over") as scope:
        turn = rows.get_turn(scope, turn_id)
        given_up = scope.change(
            scope.update(turns)
            .where(turns.c.id == turn_id, turns.c.status == TurnStatus.RUNNING, turns.c.run_id == run_id)
            .values(run_id=None, touched_at=scope.now)
        )
        if given_up:
            parts_done = len(ledger_queries.list_steps(scope, [turn_id]))
            scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn_id}:{turn.epoch}:part-{parts_done}"))
    return "handed over" if given_up else "lost"


def ring_turn_again(scope: Scope, turn: Turn) -> None:
    """Ring for a turn whose first bell seems lost, under an id that was never used."""
    scope.change(
        scope.update(turns)
        .where(turns.c.id == turn.id, turns.c.ring == turn.ring)
        .values(ring=turn.ring + 1, rung_at=scope.now)
    )
    scope.ring(Bell(_event_of_turn(scope, turn), id=f"{turn.id}:{turn.epoch}:ring-{turn.ring + 1}"))


def _event_of_turn(scope: Scope, turn: Turn) -> TurnRequested | MainRequested:
    kind = MainRequested if turn.task_id is None else TurnRequested
    return kind(workspace_id=scope.workspace_id, turn_id=turn.id)
