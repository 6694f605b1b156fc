"""Runs of a skill for a review, merged from the engine's history and our own rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from core.orchestrator.run_history import EngineRun, RunPage
from skills.book.runs import SKIPPED, SkillRun
from skills.review.facts import RunFact
from skills.review.text import error_text

MOST_RUNS = 1000
_PAGE = 100
_ENDED = ("completed", "failed", "cancelled")


class EngineRunHistory(Protocol):
    """The run history of the attached engine; raises UnavailableError when it does not answer."""

    def page(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RunPage:
        """Return one page of runs, newest first."""
        ...


def list_engine_runs(
    engine: EngineRunHistory, stem: str, function_ids: Sequence[str], since: datetime
) -> list[EngineRun]:
    """List the runs of these functions queued since then, at most `MOST_RUNS` of each."""
    found: list[EngineRun] = []
    for function_id in function_ids:
        cursor: str | None = None
        for _ in range(MOST_RUNS // _PAGE):
            page = engine.page(f"skill-{stem}/{function_id}", None, _text(since), cursor, _PAGE)
            found += page.items
            cursor = page.next
            if cursor is None:
                break
    return found


def merge_runs(
    engine: Sequence[EngineRun], ledger: Sequence[SkillRun], version_id: str, since: datetime
) -> list[RunFact]:
    """Return the runs that began since then on this version, newest first.

    The engine decides how a run ended; version, attempts and error come from our own rows, which also hold runs that
    the engine has forgotten. A run that only the engine knows counts by its time. Skipped runs do not count.
    """
    own = {run.run_id: _of_ledger(run) for run in ledger}
    found = dict(own)
    for run in engine:
        found[run.id] = _of_both(run, own.get(run.id), since)
    for entry in ledger:
        if entry.stage == SKIPPED:
            del found[entry.run_id]
    kept = [run for run in found.values() if run.began_at >= since and run.version_id in {None, version_id}]
    return sorted(kept, key=lambda run: run.began_at, reverse=True)


def _of_ledger(run: SkillRun) -> RunFact:
    return RunFact(
        run_id=run.run_id,
        function_id=run.function_id,
        version_id=run.version_id,
        status=run.status,
        began_at=run.began_at,
        ended_at=run.ended_at,
        attempts=max(1, run.attempts),
        error=error_text(run.error),
    )


def _of_both(run: EngineRun, known: RunFact | None, since: datetime) -> RunFact:
    """Merge what the engine says of a run with our own row, if there is one."""
    began = _moment(run.started_at) or (known.began_at if known is not None else since)
    ended = _moment(run.ended_at) or (known.ended_at if known is not None else None)
    told = run.status if run.status in _ENDED or known is None else known.status
    return RunFact(
        run_id=run.id,
        function_id=run.function,
        version_id=known.version_id if known is not None else None,
        status=told,
        began_at=known.began_at if known is not None else began,
        ended_at=ended if ended is None or ended >= began else began,
        attempts=known.attempts if known is not None else 1,
        error=known.error if known is not None else "",
    )


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
