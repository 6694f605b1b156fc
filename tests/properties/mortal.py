"""A process that may die at any commit: its database refuses everything from then on, until the next one begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from core.database import Database, Scope


class Died(BaseException):
    """The process is gone. Nothing of ours may catch it, as nothing catches SIGKILL."""


class MortalDatabase(Database):
    """`die_at` counts the edges of write transactions: 1 is just before the next commit, 2 just after it, and so on.

    `begun` counts transactions: where it has not grown, nothing has changed.
    """

    begun = 0
    _left: int | None = None
    _dead = False

    def die_at(self, edge: int | None) -> None:
        self._left, self._dead = edge, False

    @contextmanager
    def transaction(self, workspace_id: str, name: str = "transaction") -> Iterator[Scope]:
        if self._dead:
            raise Died
        self.begun += 1
        with super().transaction(workspace_id, name) as scope:
            yield scope
            self._edge()
        self._edge()

    def _edge(self) -> None:
        if self._left is None:
            return
        self._left -= 1
        if self._left <= 0:
            self._dead = True
            raise Died


class CountedIds:
    """Ids that sort in the order they were made and are the same in every run of an example."""

    def __init__(self) -> None:
        self._count = 0

    def new(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}_{self._count:06d}"
