"""Make untrusted text safe to show on a card: escape invisible characters and keep it to one line."""

from __future__ import annotations


def escape_invisible(line: str) -> str:
    """Write invisible characters, and those that reverse the reading direction, as escapes."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


def one_line(text: str) -> str:
    """Join a text into one line, so that it cannot imitate the lines around it or push them out of sight."""
    return escape_invisible(" ".join(text.split()))
