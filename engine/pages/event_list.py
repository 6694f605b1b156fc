"""Events, newest first, a page at a time."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from engine.pages.excerpts import MOST
from engine.rows import Row
from engine.tables import events

PAGE = 50
_WINDOW = 5000
_FACTS = [column for column in events.c if column.name != "body"]


@dataclass(frozen=True)
class EventFilter:
    """Events of this very name, or (None) all; `internal` shows the engine's own too; `before` is a `seq`."""

    name: str | None = None
    internal: bool = False
    before: int | None = None


@dataclass(frozen=True)
class EventPage:
    """`before` leads to the next page; a page may be short, even empty, and still have one."""

    rows: list[Row]
    before: int | None


def find_events(connection: Connection, wanted: EventFilter, limit: int = PAGE) -> EventPage:
    """A page: by name a seek in (name, seq), else the newest among at most 5000 rows by `seq`."""
    statement = select(*_FACTS).order_by(events.c.seq.desc()).limit(limit + 1)
    if wanted.before is not None:
        statement = statement.where(events.c.seq < wanted.before)
    lowest = None
    if wanted.name is not None:
        statement = statement.where(events.c.name == wanted.name)
    elif not wanted.internal:
        top = wanted.before or (connection.execute(select(func.max(events.c.seq))).scalar() or 0) + 1
        lowest = top - _WINDOW
        statement = statement.where(events.c.seq >= lowest, events.c.internal.is_(False))
    rows = list(connection.execute(statement))
    if len(rows) > limit:
        return EventPage(rows[:limit], rows[limit - 1].seq)
    more = lowest is not None and _any_below(connection, lowest)
    return EventPage(rows, lowest if more else None)


def read_event(connection: Connection, event_id: str) -> Row | None:
    """The newest event of this id, with the first part of its `text` and the `whole` length."""
    text = func.substr(events.c.body, 1, MOST + 1).label("text")
    statement: Select[Any] = select(*_FACTS, text, func.length(events.c.body).label("whole")).where(
        events.c.id == event_id
    )
    return connection.execute(statement.order_by(events.c.seq.desc()).limit(1)).first()


def _any_below(connection: Connection, seq: int) -> bool:
    return connection.execute(select(events.c.seq).where(events.c.seq < seq).limit(1)).first() is not None
