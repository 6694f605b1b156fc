"""The `memory` service: searches what the agent remembers for the whole workspace, nothing about single persons."""

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

    def check(self, asker: Asker, request: MemoryRequest) -> None:
        del request
        permissions.require_memory(asker.identity)

    def has_effect(self, request: MemoryRequest) -> bool:
        del request
        return False

    def do(self, asker: Asker, request: MemoryRequest) -> ServiceAnswer:
        del asker
        found = recall(self._search, self._workspace_id, (scopes.WORKSPACE,), request.query, limit=request.limit)
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

    def simulate(self, asker: Asker, request: MemoryRequest) -> ServiceAnswer:
        del asker, request
        return {"items": []}
