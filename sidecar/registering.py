"""Tells the engine a skill's functions, in words of our own: the skill's process is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode

from core.errors import InvalidError, UnavailableError
from core.orchestrator.engine import Engine
from skills.problem import Problem, RefusedSkillError


def checked(functions: Sequence[dict[str, Any]], app_id: str, url: str) -> list[dict[str, Any]]:
    """The functions with ids of this app only, each called at `url`; raises RefusedSkillError."""
    return [_checked(function, app_id, url) for function in functions]


def register(engine: Engine, app_id: str, url: str, functions: Sequence[dict[str, Any]], sha: str) -> None:
    """The app has exactly these functions from now on; none retires it.

    Raises InvalidError with the engine's reason when it refuses one, UnavailableError when it does not answer.
    """
    body = {
        "appname": app_id,
        # A change of code alone is a new version too.
        "appVersion": sha[:12],
        "deploy_type": "ping",
        "framework": "flask",
        "functions": list(functions),
        "sdk": f"py:v{version('inngest')}",
        "url": url,
        "v": "0.1",
    }
    answer = engine.post("/fn/register", body)
    if not isinstance(answer, dict):
        raise UnavailableError(f"the engine at {engine.api_url} gave no answer to a registration")
    if answer.get("ok") is not True:
        raise InvalidError(str(answer.get("error") or answer))


def _checked(function: dict[str, Any], app_id: str, url: str) -> dict[str, Any]:
    function_id = str(function.get("id", ""))
    if not function_id.startswith(f"{app_id}-"):
        raise RefusedSkillError(
            Problem(None, f"{function_id} is not a function of {app_id}", "make it with skills.kit.client")
        )
    step: dict[str, Any] = {
        "id": "step",
        "name": "step",
        "runtime": {"type": "http", "url": f"{url}?{urlencode({'fnId': function_id, 'stepId': 'step'})}"},
    }
    steps = function.get("steps")
    said = steps.get("step") if isinstance(steps, dict) else None
    if isinstance(said, dict) and isinstance(said.get("retries"), dict):
        step["retries"] = said["retries"]
    return {**function, "steps": {"step": step}}
