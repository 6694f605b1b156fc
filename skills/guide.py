"""Guides for the agent and for people, read from the Markdown files beside this module."""

from __future__ import annotations

from pathlib import Path

from core.errors import NotFoundError

_FOLDER = Path(__file__).parent / "guides"


def list_guides() -> dict[str, str]:
    """Map the name of every guide to its title."""
    return {path.stem: _title(path) for path in sorted(_FOLDER.glob("*.md"))}


def read_guide(name: str) -> str:
    """Return the Markdown text of a guide; raises NotFoundError."""
    known = list_guides()
    if name not in known:
        raise NotFoundError(f"there is no guide {name[:80]}; there are {', '.join(known)}")
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("# ").strip()
