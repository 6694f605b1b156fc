"""The embedder of last resort: pieces of words, hashed. It finds spelling, not meaning."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from math import sqrt

from core.search.embedding import Vector, readable
from core.search.folding import folded

_LENGTHS = (2, 3, 4)


class HashedPieces:
    """Needs no model and is never away."""

    id = "pieces-1"
    dim = 512
    degraded = True
    unlike = 0.0

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [Vector(self.id, self._embed(folded(readable(text)))) for text in texts]

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
