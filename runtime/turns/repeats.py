"""Does a turn go round in circles? Pure functions over the calls it has made."""

from __future__ import annotations

import json
from collections.abc import Sequence

from core.tools import Effect
from runtime.turns.ledger import Call

MOST = 3
"""In how many steps of one turn the same call may come to the same end."""
_FREE = (Effect.READ.value, Effect.WRITE.value)


def made_often(call: Call, before: Sequence[Call]) -> bool:
    """Whether the turn has made this very call in `MOST` earlier steps, with one and the same result.

    Acts that cost money or destroy are the same by their arguments alone: each answers with an id of its own.
    """
    same = [one for one in before if one.ok and one.step < call.step and _wish(one) == _wish(call)]
    if call.effect not in _FREE:
        return _steps(same) >= MOST
    results: dict[str, list[Call]] = {}
    for one in same:
        results.setdefault(json.dumps(one.result, sort_keys=True), []).append(one)
    return any(_steps(alike) >= MOST for alike in results.values())


def failing_again(made: Sequence[Call]) -> str | None:
    """The tool of a call that has failed alike in `MOST` steps of the turn; None when there is none."""
    failed: dict[tuple[str, str], list[Call]] = {}
    for one in made:
        if one.ok is False and one.status == "failed":
            failed.setdefault(_wish(one), []).append(one)
    return next((tool for (tool, _), alike in failed.items() if _steps(alike) >= MOST), None)


def _wish(call: Call) -> tuple[str, str]:
    try:
        return call.tool, json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return call.tool, call.arguments


def _steps(made: Sequence[Call]) -> int:
    return len({one.step for one in made})
