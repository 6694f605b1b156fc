"""The history of function runs, from whichever engine is attached."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify, request

from app.web.endpoints import Door
from app.web.parts import WebParts
from core.errors import InvalidError
from core.identity import Speaker

STATUSES = ("queued", "running", "completed", "failed", "cancelled")


def runs_api(parts: WebParts) -> Door:
    door = Door(parts, "runs_api")

    def list_runs(speaker: Speaker) -> Response:
        return jsonify(runs_page(parts))

    def get_run(speaker: Speaker, run_id: str) -> Response:
        return jsonify(parts.runs.get(run_id))

    door.serves("GET", "/api/v1/runs", "Runs, newest first; `function=`, `status=`, `since=`", scope="read")(
        list_runs, "list_runs"
    )
    door.serves("GET", "/api/v1/runs/<run_id>", "A run with its event and steps", scope="read")(get_run, "get_run")
    return door


def runs_page(parts: WebParts) -> dict[str, Any]:
    """`{items, next}` for this request's query."""
    status = request.args.get("status") or None
    if status is not None and status not in STATUSES:
        raise InvalidError(f"status is one of {', '.join(STATUSES)}, not {status[:40]!r}")
    return dict(
        parts.runs.list(
            function=request.args.get("function") or None,
            status=status,
            since=request.args.get("since") or None,
            cursor=request.args.get("cursor") or None,
        )
    )
