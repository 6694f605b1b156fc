"""Collections of a workspace in the index, one for each model that has embedded its entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from core.database import Scope
from core.search.tables import search_collections
from core.search.vectors import Embedder


@dataclass(frozen=True)
class IndexCollection:
    """A collection by its name in the index; `compared_at` is when it was last compared with all entries."""

    name: str
    made_at: datetime
    compared_at: datetime | None


def find_collection(scope: Scope, model: str) -> IndexCollection | None:
    """Return the collection of a model; None before anything was indexed."""
    found = scope.first(scope.select(search_collections).where(search_collections.c.model == model))
    return None if found is None else IndexCollection(found.name, found.made_at, found.compared_at)


def ensure_collection(scope: Scope, embedder: Embedder) -> str:
    """Return the name of the embedder's collection, making one up if there is none.

    The name contains a new id, since several databases may share a server.
    """
    model = re.sub(r"[^a-zA-Z0-9-]+", "-", embedder.id).strip("-")
    name = f"{scope.ids.new('loopwright')}-{model}-{embedder.dim}"
    if scope.insert_new(search_collections, model=embedder.id, name=name, made_at=scope.now):
        return name
    return list_collections(scope)[embedder.id]


def list_collections(scope: Scope) -> dict[str, str]:
    """Return the name of the collection of each model."""
    rows = scope.rows(scope.select(search_collections).order_by(search_collections.c.model))
    return {row.model: row.name for row in rows}


def forget_collection(scope: Scope, model: str) -> None:
    """Forget the collection of a model, which is gone or must not be used again."""
    scope.change(scope.delete(search_collections).where(search_collections.c.model == model))


def record_comparison(scope: Scope, model: str, at: datetime) -> None:
    """Record when a collection was compared with all entries."""
    scope.change(scope.update(search_collections).where(search_collections.c.model == model).values(compared_at=at))
