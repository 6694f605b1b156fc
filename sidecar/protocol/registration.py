"""Register a skill's functions with the engine, rewritten by the sidecar, since the skill's process is not trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from importlib.metadata import version as installed_version
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError

from core.errors import InvalidError, UnavailableError
from core.orchestrator.engine import Engine
from sidecar.protocol.call_slots import limit_concurrency
from sidecar.protocol.function_form import FunctionForm, write_function
from skills.book.invoke_event import add_invoke_trigger
from skills.book.versions import CheckedVersion
from skills.checks.source import MOST_FUNCTIONS
from skills.format.manifest import SkillManifest
from skills.format.problem import RefusedSkillError, SkillProblem


def check_functions(
    functions: Sequence[Any], app_id: str, url: str, manifest: SkillManifest, taken: Set[str] = frozenset()
) -> list[dict[str, Any]]:
    """Return the functions as they are registered: ids of this app only, called at `url`, with declared triggers.

    `taken` are full ids of other apps' functions: app `a` with function `b-c` and app `a-b` with `c` have the same full
    id. Raises RefusedSkillError with everything that is wrong.
    """
    if len(functions) > 2 * MOST_FUNCTIONS:
        raise RefusedSkillError(_too_many(len(functions)))
    forms, problems = [], []
    for function in functions:
        try:
            forms.append(FunctionForm.model_validate(function))
        except ValidationError as error:
            problems += [_field_problem(function, wrong["loc"], wrong["msg"]) for wrong in error.errors()[:10]]
    ids = {one.id for one in forms}
    # A failure handler does not count as a function.
    if (own := sum(not one.is_failure_handler(ids) for one in forms)) > MOST_FUNCTIONS:
        problems.append(_too_many(own))
    found = []
    for one in forms:
        problems += one.find_overreach(app_id, ids, frozenset(manifest.permissions.events.get("listen", ())))
        if one.id in taken:
            problems.append(SkillProblem(None, f"{one.id} is a function of another skill", "give it another fn_id"))
        found.append(write_function(one, url))
    if len(ids) != len(forms):
        problems.append(SkillProblem(None, "two functions have the same id", "give each an fn_id of its own"))
    if problems:
        raise RefusedSkillError(*problems)
    return found


def register_app(engine: Engine, app_id: str, url: str, functions: Sequence[dict[str, Any]], sha: str) -> None:
    """Register exactly these functions for the app; with none, the app is retired.

    Raises InvalidError with the engine's reason when it refuses one, UnavailableError when it does not answer.
    """
    body = {
        "appname": app_id,
        # A change of code alone is a new version too.
        "appVersion": sha[:12],
        "deploy_type": "ping",
        "framework": "flask",
        "functions": list(functions),
        "sdk": f"py:v{installed_version('inngest')}",
        "url": url,
        "v": "0.1",
    }
    answer = engine.post("/fn/register", body)
    if not isinstance(answer, dict):
        raise UnavailableError(f"the engine at {engine.api_url} gave no answer to a registration")
    if answer.get("ok") is not True:
        raise InvalidError(str(answer.get("error") or answer))


def _too_many(count: int) -> SkillProblem:
    return SkillProblem(None, f"the file has {count} functions, more than {MOST_FUNCTIONS}", "split it into two skills")


def _field_problem(function: Any, where: tuple[int | str, ...], message: str) -> SkillProblem:
    name = str(function.get("id"))[:100] if isinstance(function, dict) else "a function"
    field = ".".join(str(part) for part in where) or "it"
    return SkillProblem(None, f"{name}: {field}: {message}", f"correct {field} in create_function")


def address_functions(version: CheckedVersion, url: str) -> list[dict[str, Any]]:
    """Return the registration of a version whose skill is called at `url`."""
    count = len(version.functions)
    return [
        _address_function(limit_concurrency(add_invoke_trigger(version.skill_id, function), count), url)
        for function in version.functions
    ]


def _address_function(function: Mapping[str, Any], url: str) -> dict[str, Any]:
    step = dict(function["steps"]["step"])
    query = urlencode({"fnId": function["id"], "stepId": "step"})
    step["runtime"] = {"type": "http", "url": f"{url}?{query}"}
    return {**function, "steps": {"step": step}}
