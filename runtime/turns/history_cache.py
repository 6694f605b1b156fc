"""Cache of turns' rendered histories, so that a process need not read and render them again at every step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from core.llm.port import ChatMessage

MOST_CACHED_TURNS = 64


@dataclass(frozen=True)
class RenderedStep:
    """One step as messages to the model; `text` is the same as JSON."""

    messages: tuple[ChatMessage, ...]
    text: str


@dataclass(frozen=True)
class RenderedHistory:
    """The newest steps of a task, up to step `last` of the cached turn, which is 0 if the turn has none yet.

    `total` counts all steps that the task has taken up to there, also those that are not held.
    """

    last: int
    total: int
    steps: tuple[RenderedStep, ...]


class HistoryCache:
    """Rendered histories of the turns that this process works on, of `MOST_CACHED_TURNS` turns at most.

    It holds only what no longer changes: steps whose calls have all ended. A process that takes over a turn starts
    without its entry and renders the same history from the rows.
    """

    def __init__(self) -> None:
        self._histories: OrderedDict[str, RenderedHistory] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, turn_id: str) -> RenderedHistory | None:
        with self._lock:
            return self._histories.get(turn_id)

    def put(self, turn_id: str, history: RenderedHistory) -> None:
        """Store a turn's history; past the limit, the one that was stored longest ago goes."""
        with self._lock:
            self._histories[turn_id] = history
            self._histories.move_to_end(turn_id)
            if len(self._histories) > MOST_CACHED_TURNS:
                self._histories.popitem(last=False)
