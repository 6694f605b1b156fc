"""A small Inngest Cloud: its documented read API for run histories, and nothing that is not documented of it.

It takes the key of an environment as it is, or with its secret part hashed; a branch's key only with the branch's name.
Addresses under /v1 are answered from a cache, lists by pages of at most a hundred.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import flask

from core.orchestrator.engine import Engine
from tests.support.wsgi import serving

SECRET = "5e" * 32
KEY, BRANCH_KEY = f"signkey-prod-{SECRET}", f"signkey-branch-{SECRET}"
CACHED_SECONDS = 5.0
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class CloudRun:
    """One run as the cloud keeps it; `number` orders them, a minute apart."""

    number: int
    app: str = "skill-watch"
    function: str = "check"
    status: str = "COMPLETED"
    output: Any = None
    steps: tuple[dict[str, Any], ...] = ()
    only_listed: bool = False
    """The first API does not have it yet."""

    @property
    def id(self) -> str:
        return f"01KQ{self.number:022d}"

    @property
    def queued_at(self) -> datetime:
        return START + timedelta(minutes=self.number)

    @property
    def ended_at(self) -> datetime | None:
        ended = self.status in {"COMPLETED", "FAILED", "CANCELLED"}
        return self.queued_at + timedelta(seconds=2) if ended else None

    def listed(self) -> dict[str, Any]:
        began = {} if self.status == "QUEUED" else {"startedAt": stamp(self.queued_at)}
        ended = {"endedAt": stamp(self.ended_at), "durationMs": "2000"} if self.ended_at else {}
        return {
            "id": self.id,
            "app": {"id": self.app},
            "function": {"id": self.function, "name": self.function, "app": {"id": self.app}},
            "status": self.status,
            "queuedAt": stamp(self.queued_at),
            "trigger": {"eventIds": [self.id], "eventName": "watch/asked"},
            **began,
            **ended,
        }

    def told(self) -> dict[str, Any]:
        """The run by the first API, which says `Running` of whatever has not ended."""
        return {
            "run_id": self.id,
            "run_started_at": stamp(self.queued_at),
            "ended_at": stamp(self.ended_at) if self.ended_at else None,
            "status": self.status.capitalize() if self.ended_at else "Running",
            "output": self.output,
            "function_id": "8e6b9d0e-2f6c-4c58-9f5d-0d1f0a7b9a10",
            "function_version": 1,
            "environment_id": "c8e3f5a2-6a51-4b6f-bb1f-4b2a11f6a7d1",
            "event_id": self.id,
        }

    def trace(self) -> dict[str, Any]:
        root = {"id": "root", "name": "Run", "status": self.status, "queuedAt": stamp(self.queued_at)}
        return {"runId": self.id, "rootSpan": {**root, "children": [self._span(step) for step in self.steps]}}

    def _span(self, step: dict[str, Any]) -> dict[str, Any]:
        when = {"queuedAt": stamp(self.queued_at), "startedAt": stamp(self.queued_at), "endedAt": stamp(self.ended_at)}
        stepped = hashlib.sha1(step["name"].encode()).hexdigest()
        return {"id": stepped[:8], "stepId": stepped, "stepOp": "RUN", "status": "COMPLETED", **when, **step}


@dataclass
class Cloud:
    """What a test sets and reads: the runs, which environments there are, and who asked what."""

    url: str = ""
    runs: dict[str, CloudRun] = field(default_factory=dict)
    branch: str = ""
    """The name of the environment where its runs are; empty: production."""
    lists_runs: bool = True
    requests: list[str] = field(default_factory=list)
    cache: dict[str, tuple[float, Any]] = field(default_factory=dict)

    def keep(self, *runs: CloudRun) -> None:
        self.runs |= {run.id: run for run in runs}

    def engine(self, *keys: str, environment: str = "") -> Engine:
        return Engine(self.url, self.url, keys or (KEY,), environment=environment)


@contextmanager
def inngest_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    with serving(_app(cloud)) as cloud.url:
        yield cloud


def _app(cloud: Cloud) -> flask.Flask:
    app = flask.Flask(__name__)

    @app.before_request
    def only_for_keys() -> flask.typing.ResponseReturnValue | None:
        cloud.requests.append(flask.request.path)
        if _is_known(cloud, flask.request.headers):
            return None
        return _refused(401, "unauthorized", "Authentication failed")

    @app.get("/v2/runs")
    @app.get("/v2/apps/<app>/functions/<function>/runs")
    def listed(app: str | None = None, function: str | None = None) -> flask.typing.ResponseReturnValue:
        if not cloud.lists_runs:
            return _refused(404, "not_found", "Not Found")
        return _page([run for run in cloud.runs.values() if app is None or (run.app, run.function) == (app, function)])

    @app.get("/v2/runs/<run_id>")
    def one(run_id: str) -> flask.typing.ResponseReturnValue:
        return _found(cloud.runs[run_id].listed() if run_id in cloud.runs else None)

    @app.get("/v2/runs/<run_id>/trace")
    def trace(run_id: str) -> flask.typing.ResponseReturnValue:
        return _found(cloud.runs[run_id].trace() if run_id in cloud.runs else None)

    @app.get("/v1/runs/<run_id>")
    def facts(run_id: str) -> flask.typing.ResponseReturnValue:
        run = cloud.runs.get(run_id)
        return _found(_cached(cloud, run.told() if run is not None and not run.only_listed else None))

    @app.get("/v1/events/<event_id>")
    def event(event_id: str) -> flask.typing.ResponseReturnValue:
        return _found(_cached(cloud, {"internal_id": event_id, "name": "watch/asked", "data": {"q": "é"}, "ts": 1}))

    return app


def _is_known(cloud: Cloud, headers: Any) -> bool:
    wanted, prefix = (BRANCH_KEY, "signkey-branch-") if cloud.branch else (KEY, "signkey-prod-")
    hashed = prefix + hashlib.sha256(bytes.fromhex(SECRET)).hexdigest()
    shown = headers.get("Authorization", "")
    return shown in {f"Bearer {wanted}", f"Bearer {hashed}"} and headers.get("X-Inngest-Env", "") == cloud.branch


def _page(runs: list[CloudRun]) -> flask.typing.ResponseReturnValue:
    asked = flask.request.args
    try:
        since, limit = datetime.fromisoformat(asked["from"]), int(asked.get("limit", "20"))
    except (KeyError, ValueError) as error:
        return _refused(400, "invalid_argument", str(error))
    if since.tzinfo is None or not 1 <= limit <= 100 or asked.get("timeField") != "queuedAt":
        return _refused(400, "invalid_argument", "from, limit or timeField is wrong")
    newest = sorted((run for run in runs if run.queued_at >= since), key=lambda run: run.id, reverse=True)
    after = [run for run in newest if "cursor" not in asked or run.id < asked["cursor"]]
    items = [run.listed() for run in after[:limit]]
    page = {"limit": limit, **({"cursor": items[-1]["id"], "hasMore": True} if len(after) > limit else {})}
    # An empty list is left out, as protocol buffers do.
    return flask.jsonify({**({"data": items} if items else {}), "page": page, "metadata": {"fetchedAt": stamp(START)}})


def _cached(cloud: Cloud, now: Any) -> Any:
    at, kept = cloud.cache.get(flask.request.full_path, (0.0, None))
    if kept is None or time.monotonic() - at > CACHED_SECONDS:
        at, kept = cloud.cache[flask.request.full_path] = (time.monotonic(), now)
    return kept


def _found(data: Any) -> flask.typing.ResponseReturnValue:
    if data is None:
        return _refused(404, "not_found", "Run not found")
    return flask.jsonify({"data": data, "metadata": {"fetchedAt": stamp(START), "cachedUntil": None}})


def _refused(status: int, code: str, message: str) -> flask.typing.ResponseReturnValue:
    if flask.request.path.startswith("/v1/"):
        return flask.jsonify({"error": message, "status": status}), status
    return flask.jsonify({"errors": [{"code": code, "message": message}]}), status


def stamp(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
