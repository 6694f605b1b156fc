"""Functions as the engine is told them: at our address, each with the event by which it is invoked by hand, and with
how many of its calls may come at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from sidecar.places import limited
from skills.invoking import invocable
from skills.versions import Version


def addressed(version: Version, url: str) -> list[dict[str, Any]]:
    """The registration of a version whose skill is called at `url`."""
    count = len(version.functions)
    return [_at(limited(invocable(version.skill_id, function), count), url) for function in version.functions]


def _at(function: Mapping[str, Any], url: str) -> dict[str, Any]:
    step = dict(function["steps"]["step"])
    query = urlencode({"fnId": function["id"], "stepId": "step"})
    step["runtime"] = {"type": "http", "url": f"{url}?{query}"}
    return {**function, "steps": {"step": step}}
