"""An engine that is not ours: is it there, is it one, and does it take us for what we take it for?"""

from __future__ import annotations

from typing import Any

import httpx

from core.errors import LoopwrightError, RefusedError
from core.http_client import http_client_for
from core.orchestrator.engine import Engine
from core.settings import Settings

_SECONDS = 5.0
# Inngest's servers say with every answer whether they check keys (`cloud`) or not (`dev`).
_KIND = "X-Inngest-Server-Kind"


def engine_problems(address: str, settings: Settings) -> list[str]:
    """At most one line: what would keep every process waiting for this engine for good."""
    try:
        with http_client_for(address, _SECONDS) as client:
            answer = client.get(f"{address}/health")
    except httpx.HTTPError as error:
        return [f"engine {address} does not answer ({error}): start it, or leave out --engine to use the embedded one"]
    if _KIND not in answer.headers and not _is_healthy(answer):
        return [
            f"what answers at {address} is no Inngest server (GET /health gave {answer.status_code}): correct --engine"
        ]
    key = settings.inngest_signing_key.get_secret_value()
    match answer.headers.get(_KIND), bool(key):
        case "dev", True:
            return [f"engine {address} is a dev server, which signs nothing: unset INNGEST_SIGNING_KEY to use it"]
        case "cloud", False:
            return [f"engine {address} checks keys: set INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY to its own"]
        case _, True:
            return _refusals(Engine.at(address, key))
        case _:
            return []


def _is_healthy(answer: httpx.Response) -> bool:
    try:
        said: Any = answer.json()
    except ValueError:
        return False
    return isinstance(said, dict) and said.get("status") == 200


def _refusals(engine: Engine) -> list[str]:
    try:
        engine.get("/v1/runs/0")
    except RefusedError as error:
        return [str(error)]
    except LoopwrightError:
        # It let us in; that it has no such run was to be expected.
        pass
    return []
