"""The port to a vector index. It may be lost at any time: everything in it is in the database too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import UnavailableError


@dataclass(frozen=True)
class Where:
    """One room's entries in one workspace, as far as they are of one of `scopes`.

    A search without a scope cannot be written: an empty workspace, room or list raises ValueError.
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
    """The index answers, and has no such collection."""

    code = "index_lost"


class IndexBrokenError(IndexAwayError):
    """The index answers, but not as it should: it may have to be built again."""

    code = "index_broken"


@dataclass(frozen=True)
class IndexItem:
    """One entry as the index holds it: no text, only what leads to the row."""

    room: str
    id: str
    scope: str
    stamp: str
    vector: bytes = field(repr=False)


@dataclass(frozen=True)
class EntryKey:
    room: str
    id: str


class VectorIndex(Protocol):
    """Collections of vectors by name, one a workspace and model. Every method raises IndexAwayError.

    A collection that is not there is an empty one, and `put` makes it. Limits of time are in seconds.
    """

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        """The ids of the nearest entries inside `where`, nearest first; IndexLostError when there is no collection."""

    def put(self, collection: str, workspace_id: str, items: Sequence[IndexItem]) -> None:
        """Add items, or replace those of the same room and id."""

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        """Let entries go; one that is not there is no error."""

    def count(self, collection: str) -> int: ...

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        """Those of the keys that the collection holds."""

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        """Everything the collection holds, each with the stamp it was put under."""

    def drop(self, collection: str) -> None:
        """Let a whole collection go."""

    def alive(self) -> bool:
        """Whether it answers; never raises."""


class NoIndex:
    """Where none is configured: away at every question."""

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
