"""History of runs, read from the public API of the attached engine."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from core.errors import InvalidError, NotFoundError, UnavailableError
from core.orchestrator.engine import Engine
from core.orchestrator.run_facts import TraceStep, read_steps, unwrap_error, unwrap_output

STATUSES = ("queued", "running", "completed", "failed", "cancelled")
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_ALL_RUNS = "/v2/runs"
_MAX_LIMIT = 100
_RUN_ID = re.compile(r"[0-9A-Za-z]{26}")
_ENDED = {"completed", "failed", "cancelled"}


@dataclass(frozen=True)
class EngineRun:
    """A run; `status` is one of `STATUSES`, times are RFC 3339 as the engine wrote them."""

    id: str
    app: str
    function: str
    status: str
    started_at: str | None
    ended_at: str | None


@dataclass(frozen=True)
class RunDetail(EngineRun):
    """A run with its event, its output or error, and its steps in the order in which they began."""

    event: Any
    output: Any
    error: Any
    steps: tuple[TraceStep, ...]


@dataclass(frozen=True)
class RunPage:
    """A page of runs, newest first; `next` is the cursor of the next page."""

    items: tuple[EngineRun, ...]
    next: str | None


class RunHistory:
    """Reads runs from the engine at `base_url`. Raises UnavailableError when it does not answer.

    Some engines list runs without their end and sometimes with an outdated status. So each listed run without an end
    is read by itself; one that the engine has already deleted is shown as it was listed.
    """

    def __init__(self, base_url: str, signing_key: str | None = None) -> None:
        self._engine = Engine.at(base_url, signing_key)

    @classmethod
    def of(cls, engine: Engine) -> RunHistory:
        """Make a history of this engine's runs."""
        history = cls.__new__(cls)
        history._engine = engine
        return history

    def list(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """Return a page as the JSON of `GET /api/v1/runs`: `{items, next}`."""
        page = self.page(function, status, since, cursor, limit)
        return {"items": [asdict(run) for run in page.items], "next": page.next}

    def get(self, run_id: str) -> dict[str, Any]:
        """Return a run as the JSON of `GET /api/v1/runs/{id}`."""
        run = self.run(run_id)
        return asdict(run) | {"steps": [asdict(step) for step in run.steps]}

    def event(self, run_id: str) -> Any:
        """Return the event that started a run; None when the engine does not know it."""
        try:
            return self._first_event(self._data(f"/v1/runs/{run_id}"))
        except NotFoundError:
            return None

    def page(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RunPage:
        """Return runs, filtered by function (`<fn_id>` or `<app>/<fn_id>`), status and time.

        A filtered page may have fewer than `limit` runs, even none, although `next` leads to more.
        """
        if status is not None and status not in STATUSES:
            raise InvalidError(f"no run has the status {status!r}; it is one of {', '.join(STATUSES)}")
        app, fn_id = _split_function(function)
        path = f"/v2/apps/{quote(app, safe='')}/functions/{quote(fn_id, safe='')}/runs" if app and fn_id else _ALL_RUNS
        found = self._list(path, since, cursor, max(1, min(limit, _MAX_LIMIT)))
        runs = [self._complete_run(run) for run in _runs_in(found) if fn_id is None or run.function == fn_id]
        return RunPage(tuple(run for run in runs if status in {None, run.status}), _next(found))

    def run(self, run_id: str) -> RunDetail:
        """Return one run; raises NotFoundError."""
        if not _RUN_ID.fullmatch(run_id):
            raise NotFoundError(f"there is no run {run_id!r}")
        listed = self._summary(run_id)
        try:
            facts = self._data(f"/v1/runs/{run_id}")
        except NotFoundError:
            # Some engines list a run shortly before they can return it.
            facts = {}
        run = _merge_run(listed, facts)
        root = self._trace(run_id)
        raw = facts.get("output")
        failed = run.status == "failed"
        return RunDetail(
            **asdict(run),
            event=_event(root) or self._first_event(facts),
            output=None if failed or run.status not in _ENDED else unwrap_output(raw),
            error=(unwrap_error(raw) or unwrap_error(root.get("output"))) if failed else None,
            steps=read_steps(root),
        )

    def _list(self, path: str, since: str | None, cursor: str | None, limit: int) -> Mapping[str, Any]:
        query = {
            "from": since or _LONG_AGO.isoformat().replace("+00:00", "Z"),
            "timeField": "queuedAt",
            "order": "DESC",
            "limit": limit,
            **({"cursor": cursor} if cursor else {}),
        }
        try:
            found = self._engine.get(path, query | _avoid_cache())
        except NotFoundError:
            if path == _ALL_RUNS:
                raise UnavailableError("this engine lists no runs: a self-hosted Inngest does from 1.38 on") from None
            # The engine does not know the app or function, so there are no runs.
            return {}
        return found if isinstance(found, dict) else {}

    def _complete_run(self, run: EngineRun) -> EngineRun:
        if run.status in _ENDED and run.ended_at:
            return run
        try:
            return _merge_run(run, self._data(f"/v1/runs/{run.id}"))
        except NotFoundError:
            return run

    def _summary(self, run_id: str) -> EngineRun:
        return _run(self._data(f"/v2/runs/{run_id}"))

    def _trace(self, run_id: str) -> Mapping[str, Any]:
        try:
            data = self._data(f"/v2/runs/{run_id}/trace", {"includeOutput": "true"})
        except NotFoundError:
            return {}
        root = data.get("rootSpan")
        return root if isinstance(root, dict) else {}

    def _first_event(self, facts: Mapping[str, Any]) -> Any:
        event_id = facts.get("event_id")
        if not isinstance(event_id, str) or not event_id.isalnum():
            return None
        try:
            return self._data(f"/v1/events/{event_id}")
        except NotFoundError:
            return None

    def _data(self, path: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        found = self._engine.get(path, {**(params or {}), **_avoid_cache()})
        data = found.get("data") if isinstance(found, dict) else None
        if not isinstance(data, dict):
            raise NotFoundError(f"the engine has nothing at {path}")
        return data


def _avoid_cache() -> dict[str, str]:
    # Some engines answer the same address from a cache for up to fifteen seconds.
    return {"fresh": str(time.monotonic_ns())}


def _split_function(name: str | None) -> tuple[str | None, str | None]:
    if not name:
        return None, None
    app, _, fn_id = name.rpartition("/")
    return app or None, fn_id or None


def _runs_in(found: Mapping[str, Any]) -> Sequence[EngineRun]:
    items = found.get("data")
    return [_run(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _next(found: Mapping[str, Any]) -> str | None:
    page = found.get("page")
    if not isinstance(page, dict) or not page.get("hasMore"):
        return None
    cursor = page.get("cursor")
    return str(cursor) if cursor else None


def _run(item: Mapping[str, Any]) -> EngineRun:
    app = str((item.get("app") or {}).get("id") or "")
    function = str((item.get("function") or {}).get("id") or "")
    return EngineRun(
        id=str(item["id"]),
        app=app,
        function=function.removeprefix(f"{app}-") if app else function,
        status=_status(item.get("status")) or "queued",
        started_at=item.get("startedAt"),
        ended_at=item.get("endedAt"),
    )


def _merge_run(run: EngineRun, facts: Mapping[str, Any]) -> EngineRun:
    """Join a listed run with the status and the end that the run itself has."""
    ended_at = facts.get("ended_at") or run.ended_at
    status = _status(facts.get("status")) or run.status
    if status == "running" and run.started_at is None and run.status == "queued":
        status = "queued"
    started_at = run.started_at or (facts.get("run_started_at") if status != "queued" else None)
    return EngineRun(run.id, run.app, run.function, status, started_at, ended_at if status in _ENDED else None)


def _status(value: object) -> str | None:
    status = str(value or "").lower()
    return {"scheduled": "queued", "waiting": "running"}.get(status, status if status in STATUSES else None)


def _event(root: Mapping[str, Any]) -> Any:
    input_value = root.get("input")
    if isinstance(input_value, dict) and set(input_value) == {"data"} and isinstance(input_value["data"], list):
        input_value = input_value["data"]
    if isinstance(input_value, list):
        return input_value[0] if len(input_value) == 1 else input_value or None
    return input_value or None
