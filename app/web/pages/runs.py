"""The pages of function runs: the history, and a single run."""

from __future__ import annotations

from typing import Any

from flask import request

from app.web.api.runs import STATUSES, RunOwners, fetch_runs
from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.view import add_page
from core.database import Scope
from core.errors import UnavailableError
from core.identity import Speaker

# The most pages of the engine's list that are read for one page of ours.
MOST_READ = 10


def runs_pages(dependencies: WebDependencies, owners: RunOwners) -> Endpoints:
    endpoints = Endpoints(dependencies, "runs_pages")

    def every(speaker: Speaker) -> dict[str, Any]:
        query = {name: request.args.get(name, "") for name in ("status", "function", "since", "limit")}
        try:
            runs, following = _collect_runs(dependencies, owners, speaker)
        except UnavailableError as error:
            return {"runs": [], "next": None, "away": str(error), "statuses": STATUSES, **query}
        return {"runs": runs, "next": following, "away": None, "statuses": STATUSES, **query}

    def one(speaker: Speaker, run_id: str) -> dict[str, Any]:
        return {"run": owners.get(speaker, run_id)}

    add_page(endpoints, "/runs", "runs.html", _no_rows, beyond=every)
    add_page(endpoints, "/runs/<run_id>", "run.html", _no_rows, beyond=one)
    return endpoints


def _no_rows(scope: Scope, speaker: Speaker, **arguments: str) -> dict[str, Any]:
    """Return nothing: these pages show the engine's data, not ours."""
    return {}


def _collect_runs(dependencies: WebDependencies, owners: RunOwners, speaker: Speaker) -> tuple[list[Any], str | None]:
    """Return matching runs and the cursor of earlier ones. Reads several pages, since a filtered one may be empty."""
    found: list[Any] = []
    cursor, size = request.args.get("cursor") or None, paging.page_size()
    for _ in range(MOST_READ):
        answer = fetch_runs(dependencies, cursor=cursor, limit=size)
        found += owners.only(speaker, answer["items"])
        cursor = answer["next"]
        if cursor is None or len(found) >= size:
            break
    return found, cursor
