"""Guides: how things are done here, for the agent and for people."""

from __future__ import annotations

from pathlib import Path

from core.errors import NotFoundError

_FOLDER = Path(__file__).parent / "guides"


def list_guides() -> dict[str, str]:
    """The title of every guide by its name."""
    return {path.stem: _title(path) for path in sorted(_FOLDER.glob("*.md"))}


def read_guide(name: str) -> str:
    """Its text, Markdown; raises NotFoundError."""
    known = list_guides()
    if name not in known:
        raise NotFoundError(f"there is no guide {name[:80]}; there are {', '.join(known)}")
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return lines.readline().lstrip("# ").strip()
