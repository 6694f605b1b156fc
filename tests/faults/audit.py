"""Assertions that hold for a task at its end, whatever died on the way."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.faults.rig import Rig

OF_TURN = "from {table} x join turns t on t.id = x.turn_id where t.task_id = :task"


def asked_again(rig: Rig, task: str) -> int:
    """Count the requests for a decision beyond those that were stored; none may follow a stored one."""
    asked: dict[int, list[datetime]] = {}
    for one in rig.model.decisions(task):
        asked.setdefault(one.history, []).append(one.at)
    query = f"select x.created_at {OF_TURN.format(table='steps')} order by x.created_at"
    stored = [_moment(at) for (at,) in rig.rows.ask(query, task=task)]
    assert len(asked) == len(stored)
    for times, at in zip((asked[history] for history in sorted(asked)), stored, strict=True):
        assert max(times) <= at, "the model was asked for a decision that was stored"
    return sum(len(times) - 1 for times in asked.values())


def _moment(stored: datetime | str) -> datetime:
    at = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def assert_nothing_lost_or_doubled(rig: Rig, task: str, works: int) -> None:
    """Assert `works` works, each ordered, made, billed and charged once, every input read once, and nothing open."""
    ask = rig.rows.ask
    made = ask(
        "select o.version from objects o join object_tasks t on t.object_id = o.id where t.task_id = :task "
        "and o.kind = 'image'",
        task=task,
    )
    assert made == [(1,)] * works, made
    keys = [key for (key,) in ask("select key from orders where task_id = :task and state = 'succeeded'", task=task)]
    billed = [row["idempotency_key"] for row in rig.studio.bill() if row["idempotency_key"] in keys]
    assert len(keys) == works
    assert sorted(billed) == sorted(keys)
    settled = "select count(*) from entries e join orders o on o.id = e.order_id where o.task_id = :task and e.kind = "
    assert ask(settled + "'settle'", task=task) == ask(settled + "'reserve'", task=task) == [(works,)]
    assert ask("select count(*) from reservations where task_id = :task and state = 'held'", task=task) == [(0,)]
    assert_books_are_closed(rig, task)


def assert_books_are_closed(rig: Rig, task: str) -> None:
    ask = rig.rows.ask
    open_turns = "select count(*) from turns where task_id = :task and (status in ('queued', 'running') or lease_token "
    assert ask(open_turns + "is not null)", task=task) == [(0,)]
    unfinished = f"select count(*) {OF_TURN.format(table='calls')} and x.status in ('proposed', 'started')"
    assert ask(unfinished, task=task) == [(0,)]
    read = "select position from inbox where task_id = :task and state not in ('withdrawn', 'replaced')"
    places = [place for (place,) in ask(read, task=task)]
    assert None not in places, "unread input"
    assert sorted(places) == list(range(1, len(places) + 1))
