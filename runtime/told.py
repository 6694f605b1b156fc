"""What a process has told a model already, so that it need not be read and rendered again at every step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from core.llm.port import ChatMessage

MOST_TURNS = 64


@dataclass(frozen=True)
class Told:
    """One step as a history tells it; `text` is the same as JSON."""

    messages: tuple[ChatMessage, ...]
    text: str


@dataclass(frozen=True)
class Past:
    """The newest steps of a task, as of step `last` of its turn; `total` counts all that it ever took."""

    last: int
    total: int
    told: tuple[Told, ...]


class Memory:
    """The pasts of the turns that this process works on, and of no more than `MOST_TURNS`.

    It holds only what no longer changes: steps whose calls have all ended. Whoever takes a turn over begins without
    it and finds the same in the rows.
    """

    def __init__(self) -> None:
        self._pasts: OrderedDict[str, Past] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, turn_id: str) -> Past | None:
        with self._lock:
            return self._pasts.get(turn_id)

    def keep(self, turn_id: str, past: Past) -> None:
        with self._lock:
            self._pasts[turn_id] = past
            self._pasts.move_to_end(turn_id)
            if len(self._pasts) > MOST_TURNS:
                self._pasts.popitem(last=False)
