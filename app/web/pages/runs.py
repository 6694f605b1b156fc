"""The history of function runs."""

from __future__ import annotations

from typing import Any

from flask import request

from app.web.api.runs import STATUSES, runs_page
from app.web.endpoints import Door
from app.web.pages.view import page
from app.web.parts import WebParts
from core.database import Scope
from core.errors import UnavailableError
from core.identity import Speaker


def runs_pages(parts: WebParts) -> Door:
    door = Door(parts, "runs_pages")

    def every(scope: Scope, speaker: Speaker) -> dict[str, Any]:
        shown = {"status": request.args.get("status", ""), "function": request.args.get("function", "")}
        try:
            found = runs_page(parts)
        except UnavailableError as error:
            return {"runs": [], "next": None, "away": str(error), "statuses": STATUSES, **shown}
        return {"runs": found["items"], "next": found["next"], "away": None, "statuses": STATUSES, **shown}

    def one(scope: Scope, speaker: Speaker, run_id: str) -> dict[str, Any]:
        return {"run": parts.runs.get(run_id)}

    page(door, "/runs", "runs.html", every)
    page(door, "/runs/<run_id>", "run.html", one)
    return door
