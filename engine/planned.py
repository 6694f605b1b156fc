"""Statements that a PostgreSQL session keeps: the server parses each once, and mostly plans it once.

To parse and plan a short statement takes the server longer than to carry it out. A session keeps what it has run often;
a process that asks once or twice gains nothing by it.
"""

import itertools
import re
from collections.abc import MutableMapping
from typing import Any

_OFTEN = 3
_MARK = re.compile(r"%\((\w+)\)s|%%")
_numbers = itertools.count(1)


class Planned:
    """One statement of the driver's kind (`%(name)s`), under a name of its own in every session of this process."""

    def __init__(self, sql: str) -> None:
        self._name = f"engine_{next(_numbers)}"
        names: list[str] = []

        def numbered(mark: re.Match[str]) -> str:
            if mark[1] is None:
                return "%"
            names.append(mark[1])
            return f"${len(names)}"

        self._prepare = f"PREPARE {self._name} AS {_MARK.sub(numbered, sql)}"
        given = ", ".join(f"%({name})s" for name in names)
        self._execute = f"EXECUTE {self._name} ({given})" if names else f"EXECUTE {self._name}"
        self._sql = sql

    def text(self, cursor: Any, session: MutableMapping[Any, Any]) -> str:
        """What to run for it now; `session` is what is noted of the cursor's connection while it lives."""
        runs = session.get(self._name, 0)
        if runs > _OFTEN:
            return self._execute
        if runs < _OFTEN:
            session[self._name] = runs + 1
            return self._sql
        cursor.execute(self._prepare)
        session[self._name] = runs + 1
        return self._execute
