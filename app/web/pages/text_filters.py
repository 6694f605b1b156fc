"""Filters of the templates: states and sizes in words, beginnings of long texts, Markdown as safe HTML."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

LONGEST_SHOWN = 4_000
LONGEST_REPLY = 20_000

_STATE_WORDS = {
    "active": "working",
    "waiting": "waiting",
    "outcome_unknown": "unknown",
    "ordered": "ordered",
    "submitting": "ordering",
    "model3d": "3D model",
    "unresolved": "unclear",
}


def state_in_words(state: str) -> str:
    """Return a state or kind in words for people."""
    return _STATE_WORDS.get(state, state.replace("_", " "))


def beginning(text: str, author: str = "user") -> str:
    """Return as much of a text as a page shows: all of a short one, and more of a reply than of a person's message."""
    most = LONGEST_SHOWN if author == "user" else LONGEST_REPLY
    return text if len(text) <= most else f"{text[:most]}…"


def filesize(size: int) -> str:
    """Return a size as `640 B`, `12 kB` or `3.4 MB`."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1_000_000:.1f} MB"


def percent(part: float) -> int:
    """Return a share from 0 to 1 as whole percent."""
    return round(100 * min(max(part, 0.0), 1.0))


def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


_ALLOWED_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Markup:
    """Return Markdown as sanitised HTML."""
    rendered = str(_MARKDOWN.render(text))
    clean = nh3.clean(
        rendered,
        tags=_ALLOWED_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)


FILTERS: Mapping[str, Callable[..., object]] = {
    "as_json": as_json,
    "beginning": beginning,
    "filesize": filesize,
    "markdown": render_markdown,
    "percent": percent,
    "said": state_in_words,
}
"""The filters by the names that templates use."""
