"""Where a search looks."""

from __future__ import annotations

from dataclasses import dataclass


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
