"""Text of others on a card: invisible characters are escaped, and nothing looks like a line of ours."""

from __future__ import annotations


def escape_invisible(line: str) -> str:
    """Signs that nobody would see, or that turn the reading round, as what they are."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


def one_line(text: str) -> str:
    """All of a text in one line, so that it neither looks like what follows it nor pushes it out of sight."""
    return escape_invisible(" ".join(text.split()))
