"""Function runs of the attached engine, and the workspace that each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, request

from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from core.errors import InvalidError, NotFoundError
from core.identity import HOME_WORKSPACE, Speaker
from core.orchestrator.run_history import RunDetail, RunPage

_SKILL_APPS = "skill-"
_FAILED_EVENT = "inngest/function.failed"
_REMEMBERED = 10_000
STATUSES = ("queued", "running", "completed", "failed", "cancelled")
# The most that engines return in one page.
MOST_RUNS = 100


class RunOwners:
    """The workspace of each run. Asks the engine once a run, as it never changes, and only with several workspaces."""

    def __init__(self, dependencies: WebDependencies) -> None:
        self._dependencies = dependencies
        self._known: dict[str, str] = {}

    def only(self, speaker: Speaker, runs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the runs of the speaker's workspace, in the same order."""
        if self._dependencies.database.workspace_ids() == [speaker.workspace_id]:
            return list(runs)
        return [run for run in runs if self._owner(run) == speaker.workspace_id]

    def get(self, speaker: Speaker, run_id: str) -> Mapping[str, Any]:
        """Return one run with its steps. Raise NotFoundError, also for a run of another workspace."""
        run = self._dependencies.runs.get(run_id)
        if workspace_of_run(run["app"], run["event"]) != speaker.workspace_id:
            raise NotFoundError(f"there is no run {run_id!r}")
        return run

    def _owner(self, run: Mapping[str, Any]) -> str:
        run_id = str(run["id"])
        if run_id not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[run_id] = workspace_of_run(run["app"], self._dependencies.runs.event(run_id))
        return self._known[run_id]


def workspace_of_run(app: str, event: Any) -> str:
    """Return the workspace that a run's event names; the home's own for skills and for events that name none."""
    if app.startswith(_SKILL_APPS):
        return HOME_WORKSPACE
    first = event[0] if isinstance(event, list) and event else event
    data = _as_mapping(_as_mapping(first).get("data"))
    if _as_mapping(first).get("name") == _FAILED_EVENT:
        data = _as_mapping(_as_mapping(data.get("event")).get("data"))
    named = data.get("workspace_id")
    return named if isinstance(named, str) and named else HOME_WORKSPACE


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def runs_api(dependencies: WebDependencies, owners: RunOwners) -> Endpoints:
    endpoints = Endpoints(dependencies, "runs_api")

    def list_runs(speaker: Speaker) -> Response:
        return jsonify(runs_page(dependencies, owners, speaker))

    def get_run(speaker: Speaker, run_id: str) -> Response:
        return jsonify(owners.get(speaker, run_id))

    endpoints.serves(
        "GET",
        "/api/v1/runs",
        "Runs, newest first; `function=`, `status=`, `since=`; `limit=` 100 at most",
        scope="read",
        answers=RunPage,
        query={
            "function": "`<fn_id>` or `<app>/<fn_id>`",
            "status": f"one of {', '.join(STATUSES)}",
            "since": "only runs that began at this time or later, as 2026-01-31T08:00:00Z",
            **paging.PAGING_QUERY,
        },
    )(list_runs, "list_runs")
    endpoints.serves("GET", "/api/v1/runs/<run_id>", "A run with its event and steps", scope="read", answers=RunDetail)(
        get_run, "get_run"
    )
    return endpoints


def runs_page(dependencies: WebDependencies, owners: RunOwners, speaker: Speaker) -> dict[str, Any]:
    """Return `{items, next}` for this request's query.

    With a filter or several workspaces, a page may have fewer items than `limit`, even none, and still a `next`.
    """
    page = fetch_runs(dependencies, cursor=request.args.get("cursor") or None, limit=min(paging.page_size(), MOST_RUNS))
    return page | {"items": owners.only(speaker, page["items"])}


def fetch_runs(dependencies: WebDependencies, *, cursor: str | None, limit: int) -> dict[str, Any]:
    """Return a page of the runs that match this request's `function`, `status` and `since`, from `cursor` on."""
    status = request.args.get("status") or None
    if status is not None and status not in STATUSES:
        raise InvalidError(f"status is one of {', '.join(STATUSES)}, not {status[:40]!r}")
    since = _requested_since()
    try:
        return dict(
            dependencies.runs.list(
                function=request.args.get("function") or None, status=status, since=since, cursor=cursor, limit=limit
            )
        )
    except InvalidError:
        if cursor is None:
            raise
        # An engine's own message about a foreign cursor would not help the client.
        raise InvalidError("cursor is not one of the engine's: leave it out to begin at the start") from None


def _requested_since() -> str | None:
    raw = request.args.get("since")
    if not raw:
        return None
    try:
        at = datetime.fromisoformat(raw)
        moment = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidError(f"since is a time such as 2026-03-01T12:00:00Z, not {raw[:40]!r}") from None
    return moment.isoformat().replace("+00:00", "Z")
