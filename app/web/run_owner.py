"""Whose run is it? The engine knows no workspaces: a run belongs to the one that its event names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.web.parts import WebParts
from core.errors import NotFoundError
from core.identity import HOME_WORKSPACE, Speaker

_SKILLS = "skill-"
_FAILED = "inngest/function.failed"
_REMEMBERED = 10_000


class RunOwners:
    """Asks the engine only where there are several workspaces, and once a run: whose it is never changes."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts
        self._known: dict[str, str] = {}

    def only(self, speaker: Speaker, runs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those of the speaker's workspace, in their order."""
        if self._parts.database.workspace_ids() == [speaker.workspace_id]:
            return list(runs)
        return [run for run in runs if self._owner(run) == speaker.workspace_id]

    def get(self, speaker: Speaker, run_id: str) -> Mapping[str, Any]:
        """One run with its steps; raises NotFoundError for another workspace's as for none."""
        run = self._parts.runs.get(run_id)
        if workspace_of(run["app"], run["event"]) != speaker.workspace_id:
            raise NotFoundError(f"there is no run {run_id!r}")
        return run

    def _owner(self, run: Mapping[str, Any]) -> str:
        run_id = str(run["id"])
        if run_id not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[run_id] = workspace_of(run["app"], self._parts.runs.event(run_id))
        return self._known[run_id]


def workspace_of(app: str, event: Any) -> str:
    """The home's own workspace has its skills and all that runs for nobody by name, such as a schedule."""
    if app.startswith(_SKILLS):
        return HOME_WORKSPACE
    first = event[0] if isinstance(event, list) and event else event
    data = _mapping(_mapping(first).get("data"))
    if _mapping(first).get("name") == _FAILED:
        data = _mapping(_mapping(data.get("event")).get("data"))
    named = data.get("workspace_id")
    return named if isinstance(named, str) and named else HOME_WORKSPACE


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
