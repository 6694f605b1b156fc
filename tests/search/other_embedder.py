"""Another embedding model than the one that the entries were embedded with."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from core.search.vectors import Vector


class OtherEmbedder:
    """Knows only whether a text is about paper."""

    id, dim, degraded, unlike = "newer-1", 3, False, 0.0

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [Vector(self.id, struct.pack("<3f", *((1, 0, 0) if "paper" in text else (0, 1, 0)))) for text in texts]
