"""The port to a vector index. It may be lost at any time: everything in it stands in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import UnavailableError
from core.search.where import Where


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
class Item:
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


class Index(Protocol):
    """Collections of vectors by name, one a workspace and model. Every method raises IndexAwayError.

    A collection that is not there is an empty one, and `put` makes it. Limits of time are in seconds.
    """

    def near(self, collection: str, where: Where, vector: bytes, count: int, within: float) -> list[str]:
        """The ids of the nearest entries inside `where`, nearest first; IndexLostError when there is no collection."""

    def put(self, collection: str, workspace_id: str, items: Sequence[Item]) -> None:
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
        raise _none()

    def put(self, collection: str, workspace_id: str, items: Sequence[Item]) -> None:
        raise _none()

    def remove(self, collection: str, keys: Sequence[EntryKey]) -> None:
        raise _none()

    def count(self, collection: str) -> int:
        raise _none()

    def which_of(self, collection: str, keys: Sequence[EntryKey]) -> set[EntryKey]:
        raise _none()

    def stamps(self, collection: str) -> Mapping[EntryKey, str]:
        raise _none()

    def drop(self, collection: str) -> None:
        raise _none()

    def alive(self) -> bool:
        return False


def _none() -> IndexAwayError:
    return IndexAwayError("no index is configured: set LOOPWRIGHT_VECTOR_URL to a Chroma server, or use loopwright up")
