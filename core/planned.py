"""Statements that a PostgreSQL session keeps: the server reads and plans each once.

To read and plan a short statement takes the server longer than to carry it out. A session keeps what it has run often;
a process that asks once or twice gains nothing by it. A kept plan is made while tables are small, where the planner
finds it cheapest to read them from end to end, and would go on so as they grow: a session that keeps plans is told to
use an index wherever there is one (`PLANS_LAST`), and not to compile what the planner then takes for dear. Behind a
pooler that lends sessions by the transaction, a session may not have what it was given: the first transaction that
meets this fails, and from then on nothing is kept.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import MutableMapping
from typing import Any

PLANS_LAST = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"
"""What a new session is told first."""
_OFTEN = 3
_MARK = re.compile(r"%\((\w+)\)s|%%")
_STRANGE_SESSION = frozenset({"26000", "42P05", "0A000"})
"""PostgreSQL's codes for a prepared statement that is not there, is there already, or whose tables have changed."""
_log = logging.getLogger(__name__)


class Planned:
    """One statement of the driver's kind (`%(name)s`). Its name tells its text: no session has it for another one."""

    _kept = True

    def __init__(self, sql: str) -> None:
        self._name = f"loopwright_{hashlib.sha256(sql.encode()).hexdigest()[:32]}"
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
        if not Planned._kept:
            return self._sql
        runs = session.get(self._name, 0)
        if runs > _OFTEN:
            return self._execute
        if runs < _OFTEN:
            session[self._name] = runs + 1
            return self._sql
        cursor.execute(self._prepare)
        session[self._name] = runs + 1
        return self._execute

    @staticmethod
    def failed(code: str | None) -> None:
        """A statement failed with this code of PostgreSQL's: keep no more where what is kept cannot be relied on."""
        if code in _STRANGE_SESSION and Planned._kept:
            Planned._kept = False
            _log.warning("PostgreSQL did not keep a statement (%s): from now on each is read anew at every run", code)
