"""Short transactions in one workspace, for operations that move bytes between them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from core.database import Database, Scope


class Access(Protocol):
    """Opens transactions: a tool call's context, whose writes are fenced, or a `WorkspaceAccess`."""

    def transaction(self) -> AbstractContextManager[Scope]: ...

    def reading(self) -> AbstractContextManager[Scope]: ...


@dataclass(frozen=True)
class WorkspaceAccess:
    """Access of a person or program that may write in this workspace."""

    database: Database
    workspace_id: str

    def transaction(self) -> AbstractContextManager[Scope]:
        return self.database.transaction(self.workspace_id)

    def reading(self) -> AbstractContextManager[Scope]:
        return self.database.reading(self.workspace_id)
