"""What a skill file imports.

    from skills.kit import client

`client` is the Inngest client of the skill's own app; the loader makes it before it runs the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import inngest

    client: inngest.Inngest

__all__ = ["client"]


def __getattr__(name: str) -> object:
    if name == "client":
        raise ImportError("skills.kit.client is there only while Loopwright loads a skill file")
    raise AttributeError(f"skills.kit has no {name!r}")
