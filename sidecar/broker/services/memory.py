"""The `memory` service: search what the agent remembers for the whole workspace, and nothing about one person."""

from __future__ import annotations

from core.search.dependencies import SearchDependencies
from memory import scopes
from memory.recall import recall
from sidecar.broker.errors import RequestFailed
from sidecar.broker.requests import MemoryRequest
from sidecar.broker.service import Asker, ServiceAnswer
from sidecar.broker.services import permissions


class MemoryService:
    """Needs `"memory": "read"`, granted."""

    def __init__(self, search: SearchDependencies, workspace_id: str) -> None:
        self._search = search
        self._workspace_id = workspace_id

    def check(self, asker: Asker, ask: MemoryRequest) -> None:
        del ask
        permissions.require_memory(asker.identity)

    def has_effect(self, ask: MemoryRequest) -> bool:
        del ask
        return False

    def do(self, asker: Asker, ask: MemoryRequest) -> ServiceAnswer:
        del asker
        found = recall(self._search, self._workspace_id, (scopes.WORKSPACE,), ask.query, limit=ask.limit)
        if found.timed_out:
            raise RequestFailed("the memory did not answer in time: try again", retriable=True)
        return {
            "items": [
                {
                    "id": fact.id,
                    "text": fact.text,
                    "standing": fact.current.standing,
                    "since": fact.current.valid_from.isoformat(),
                    "score": round(score, 3),
                }
                for fact, score in found.items
            ]
        }

    def pretend(self, asker: Asker, ask: MemoryRequest) -> ServiceAnswer:
        del asker, ask
        return {"items": []}
