"""What the agent remembers."""

from __future__ import annotations

from typing import Any

from skills.kit.door import door


def search(query: str) -> list[dict[str, Any]]:
    """What the agent remembers about `query`.

    This release has no memory that could be searched: every call raises Refused and says so.
    """
    items: list[dict[str, Any]] = door.ask("memory.search", "/memory", {"query": query})["items"]
    return items
