"""Registry of all functions: an immutable snapshot in memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sqlalchemy import Connection, select

from core.sql.compiled import run_statement
from engine.function import EventTrigger, Function, load_function
from engine.storage.tables import functions, marks

REGISTRY_MARK = "registry"
_VERSION = select(marks.c.value).where(marks.c.name == REGISTRY_MARK)


@dataclass(frozen=True)
class Registry:
    """All functions by id, slug and trigger; archived ones (no longer registered) by id only."""

    version: int
    by_id: dict[str, Function]
    by_slug: dict[str, Function] = field(init=False)
    _by_event: dict[str, list[tuple[Function, EventTrigger]]] = field(init=False)
    _patterns: list[tuple[str, Function, EventTrigger]] = field(init=False)

    def __post_init__(self) -> None:
        live = [function for function in self.by_id.values() if not function.archived]
        by_event: dict[str, list[tuple[Function, EventTrigger]]] = {}
        patterns = []
        for function in live:
            for trigger in function.event_triggers:
                if trigger.name.endswith(("/*", ".*")) or trigger.name == "*":
                    patterns.append((trigger.name[:-1], function, trigger))
                else:
                    by_event.setdefault(trigger.name, []).append((function, trigger))
        object.__setattr__(self, "by_slug", {function.slug: function for function in live})
        object.__setattr__(self, "_by_event", by_event)
        object.__setattr__(self, "_patterns", patterns)

    def triggered_by(self, event_name: str) -> Iterator[tuple[Function, EventTrigger]]:
        """Return the functions that an event of this name triggers, once for each matching trigger."""
        yield from self._by_event.get(event_name, ())
        for prefix, function, trigger in self._patterns:
            if event_name.startswith(prefix):
                yield function, trigger

    def of_app(self, app: str) -> Iterable[Function]:
        """Return the registered functions of an app."""
        return (function for function in self.by_slug.values() if function.app == app)


def load_registry(connection: Connection) -> Registry:
    """Load all stored functions."""
    version = read_registry_version(connection)
    rows = connection.execute(select(functions))
    found = {
        row.id: load_function(row.app, row.config, id=row.id, version=row.version, archived=row.archived)
        for row in rows
    }
    return Registry(version, found)


def read_registry_version(connection: Connection) -> int:
    """Return the number that grows with every change of apps and functions."""
    return run_statement(connection, _VERSION, {}).scalar() or 0
