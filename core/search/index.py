"""Vector index: the port. An index may be lost at any time, since the database has everything that is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import UnavailableError


@dataclass(frozen=True)
class Where:
    """The part of the entries to search: a room of a workspace, restricted to `scopes`.

    None of them may be empty (ValueError), so that no search can be written without a scope.
    """

    workspace_id: str
    room: str
    scopes: tuple[str, ...]

    def __post_init__(self) -> None:
        empty = [name for name in ("workspace_id", "room", "scopes") if not getattr(self, name)]
        if empty or not all(self.scopes):
            raise ValueError(f"a search needs {' and '.join(empty) or 'scopes that are not empty'}")


class IndexAwayError(UnavailableError):
    """The index does not answer, or not in time."""

    code = "index_away"


class IndexLostError(IndexAwayError):
    """The index answers, but has no such collection."""

    code = "index_lost"


class IndexBrokenError(IndexAwayError):
    """The index answers wrongly and may have to be rebuilt."""

    code = "index_broken"


@dataclass(frozen=True)
class IndexItem:
    """An entry as the index has it: the vector and what identifies the row, without the text."""

    room: str
    id: str
    scope: str
    stamp: str
    vector: bytes = field(repr=False)


@dataclass(frozen=True)
class EntryKey:
    """The key of an entry in its workspace."""

    room: str
    id: str


class VectorIndex(Protocol):
    """Named collections of vectors, one per workspace and model. Every method may raise IndexAwayError.

    A missing collection counts as empty, and `put` creates it. Time limits are in seconds.
    """

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        """Return the ids of the nearest entries in `where`, nearest first; IndexLostError if there is no collection."""

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        """Add items, or replace those of the same room and id."""

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        """Remove entries; missing ones are no error."""

    def count(self, collection: str) -> int:
        """Count the entries of a collection."""

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        """Return those of the keys that the collection has."""

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        """Return the stamp of every entry in the collection."""

    def drop(self, collection: str) -> None:
        """Delete a collection."""

    def alive(self) -> bool:
        """Whether the index answers; never raises."""


class NoIndex:
    """The index when none is configured: every use raises IndexAwayError."""

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        raise _not_configured()

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        raise _not_configured()

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        raise _not_configured()

    def count(self, collection: str) -> int:
        raise _not_configured()

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        raise _not_configured()

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        raise _not_configured()

    def drop(self, collection: str) -> None:
        raise _not_configured()

    def alive(self) -> bool:
        return False


def _not_configured() -> IndexAwayError:
    return IndexAwayError("no index is configured: set LOOPWRIGHT_VECTOR_URL to a Chroma server, or use loopwright up")
