"""The history of function runs, from whichever engine is attached."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, request

from app.web import paging
from app.web.endpoints import Door
from app.web.parts import WebParts
from app.web.run_owner import RunOwners
from core.errors import InvalidError
from core.identity import Speaker
from core.orchestrator.run_history import RunDetail, RunPage

STATUSES = ("queued", "running", "completed", "failed", "cancelled")
# As many as engines give at once.
MOST = 100


def runs_api(parts: WebParts, owners: RunOwners) -> Door:
    door = Door(parts, "runs_api")

    def list_runs(speaker: Speaker) -> Response:
        return jsonify(runs_page(parts, owners, speaker))

    def get_run(speaker: Speaker, run_id: str) -> Response:
        return jsonify(owners.get(speaker, run_id))

    door.serves(
        "GET",
        "/api/v1/runs",
        "Runs, newest first; `function=`, `status=`, `since=`; `limit=` 100 at most",
        scope="read",
        answers=RunPage,
        query={
            "function": "`<fn_id>` or `<app>/<fn_id>`",
            "status": f"one of {', '.join(STATUSES)}",
            "since": "only runs that began at this time or later, as 2026-01-31T08:00:00Z",
            **paging.LISTED,
        },
    )(list_runs, "list_runs")
    door.serves("GET", "/api/v1/runs/<run_id>", "A run with its event and steps", scope="read", answers=RunDetail)(
        get_run, "get_run"
    )
    return door


def runs_page(parts: WebParts, owners: RunOwners, speaker: Speaker) -> dict[str, Any]:
    """`{items, next}` for this request's query.

    With a filter, or where there are several workspaces, a page may hold fewer than were asked for, even none, while
    `next` goes on.
    """
    page = listed(parts, cursor=request.args.get("cursor") or None, limit=min(paging.page_size(), MOST))
    return page | {"items": owners.only(speaker, page["items"])}


def listed(parts: WebParts, *, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of the runs that this request's `function`, `status` and `since` ask for, from `cursor` on."""
    status = request.args.get("status") or None
    if status is not None and status not in STATUSES:
        raise InvalidError(f"status is one of {', '.join(STATUSES)}, not {status[:40]!r}")
    since = _since()
    try:
        return dict(
            parts.runs.list(
                function=request.args.get("function") or None, status=status, since=since, cursor=cursor, limit=limit
            )
        )
    except InvalidError:
        if cursor is None:
            raise
        # What an engine says to a cursor that it never gave is about its insides.
        raise InvalidError("cursor is none of the engine's: leave it out to begin at the start") from None


def _since() -> str | None:
    raw = request.args.get("since")
    if not raw:
        return None
    try:
        at = datetime.fromisoformat(raw)
        moment = at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidError(f"since is a time such as 2026-03-01T12:00:00Z, not {raw[:40]!r}") from None
    return moment.isoformat().replace("+00:00", "Z")
