"""Cache of turns' rendered histories, so that a process need not read and render them again at every step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from core.llm.port import ChatMessage

MOST_CACHED_TURNS = 64


@dataclass(frozen=True)
class RenderedStep:
    """One step as a history tells it; `text` is the same as JSON."""

    messages: tuple[ChatMessage, ...]
    text: str


@dataclass(frozen=True)
class RenderedHistory:
    """The newest steps of a task, as of step `last` of its turn; `total` counts all that it ever took."""

    last: int
    total: int
    told: tuple[RenderedStep, ...]


class HistoryCache:
    """The pasts of the turns that this process works on, and of no more than `MOST_TURNS`.

    It holds only what no longer changes: steps whose calls have all ended. Whoever takes a turn over begins without
    it and finds the same in the rows.
    """

    def __init__(self) -> None:
        self._pasts: OrderedDict[str, RenderedHistory] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, turn_id: str) -> RenderedHistory | None:
        with self._lock:
            return self._pasts.get(turn_id)

    def keep(self, turn_id: str, past: RenderedHistory) -> None:
        with self._lock:
            self._pasts[turn_id] = past
            self._pasts.move_to_end(turn_id)
            if len(self._pasts) > MOST_CACHED_TURNS:
                self._pasts.popitem(last=False)
