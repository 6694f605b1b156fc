"""`memory`: what the agent remembers."""

from __future__ import annotations

from sidecar.broker import permission
from sidecar.broker.act import Answer, Asker
from sidecar.broker.asks import MemoryAsk
from sidecar.broker.denied import Failed


class Remember:
    """Says honestly that there is nothing to search in this release."""

    def check(self, asker: Asker, ask: MemoryAsk) -> None:
        del ask
        permission.remember(asker.identity)

    def has_effect(self, ask: MemoryAsk) -> bool:
        del ask
        return False

    def do(self, asker: Asker, ask: MemoryAsk) -> Answer:
        del asker, ask
        raise Failed("this release of Loopwright has no memory that a skill could search", retriable=False)

    def pretend(self, asker: Asker, ask: MemoryAsk) -> Answer:
        return self.do(asker, ask)
