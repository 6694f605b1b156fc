"""Statements that a PostgreSQL session keeps parsed and planned.

The server takes longer to parse and plan a short statement than to run it. A session keeps what it has run several
times; a process that asks once or twice gains nothing by it.

A plan made while the tables are small reads them from end to end, and would still do so after they have grown. So a
session that keeps plans must use an index wherever there is one, and must not compile what the planner then takes to be
expensive (`SESSION_SETTINGS`).

Behind a pooler that lends a session per transaction, the next transaction may get a session that lacks the prepared
statement. The first transaction that meets this fails, and from then on the process prepares none.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import MutableMapping
from typing import Any

SESSION_SETTINGS = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET jit = off"
"""What a new session runs first."""
_PLAIN_RUNS = 3
_PARAMETER = re.compile(r"%\((\w+)\)s|%%")
_LOST_STATEMENT = frozenset({"26000", "42P05", "0A000"})
"""PostgreSQL's codes for a prepared statement that does not exist, exists already, or whose tables have changed."""
_log = logging.getLogger(__name__)


class SessionStatement:
    """One statement with the driver's parameters (`%(name)s`), prepared in each session that runs it often.

    Its name in the session is a hash of its text, so two statements never share one.
    """

    # Whether sessions keep what they prepare; False for the whole process once one has not.
    _kept = True

    def __init__(self, sql: str) -> None:
        self._name = f"loopwright_{hashlib.sha256(sql.encode()).hexdigest()[:32]}"
        names: list[str] = []

        def number(parameter: re.Match[str]) -> str:
            if parameter[1] is None:
                return "%"
            names.append(parameter[1])
            return f"${len(names)}"

        self._prepare = f"PREPARE {self._name} AS {_PARAMETER.sub(number, sql)}"
        arguments = ", ".join(f"%({name})s" for name in names)
        self._execute = f"EXECUTE {self._name} ({arguments})" if names else f"EXECUTE {self._name}"
        self._sql = sql

    def text(self, cursor: Any, session: MutableMapping[Any, Any]) -> str:
        """Return the SQL to run now, after preparing the statement through `cursor` if its time has come.

        `session` counts the runs; it must live as long as the cursor's connection.
        """
        if not SessionStatement._kept:
            return self._sql
        runs = session.get(self._name, 0)
        if runs > _PLAIN_RUNS:
            return self._execute
        if runs < _PLAIN_RUNS:
            session[self._name] = runs + 1
            return self._sql
        cursor.execute(self._prepare)
        session[self._name] = runs + 1
        return self._execute

    @staticmethod
    def note_failure(code: str | None) -> None:
        """Stop preparing if PostgreSQL's error `code` shows that sessions do not keep their statements."""
        if code in _LOST_STATEMENT and SessionStatement._kept:
            SessionStatement._kept = False
            _log.warning("PostgreSQL did not keep a prepared statement (%s): none is prepared from now on", code)
