"""`memory`: what the agent remembers for the whole workspace; what it remembers of a person is no skill's."""

from __future__ import annotations

from core.search.dependencies import SearchDependencies
from memory import scopes
from memory.recall import recall
from sidecar.broker import permission
from sidecar.broker.act import Answer, Asker
from sidecar.broker.asks import MemoryAsk
from sidecar.broker.denied import Failed


class Remember:
    """Needs `"memory": "read"`, granted."""

    def __init__(self, search: SearchDependencies, workspace_id: str) -> None:
        self._search = search
        self._workspace_id = workspace_id

    def check(self, asker: Asker, ask: MemoryAsk) -> None:
        del ask
        permission.remember(asker.identity)

    def has_effect(self, ask: MemoryAsk) -> bool:
        del ask
        return False

    def do(self, asker: Asker, ask: MemoryAsk) -> Answer:
        del asker
        found = recall(self._search, self._workspace_id, (scopes.WORKSPACE,), ask.query, limit=ask.limit)
        if found.timed_out:
            raise Failed("the memory did not answer in time: try again", retriable=True)
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

    def pretend(self, asker: Asker, ask: MemoryAsk) -> Answer:
        del asker, ask
        return {"items": []}
