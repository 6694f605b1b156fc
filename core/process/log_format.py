"""Log format in which quoted text can neither begin a line nor move the cursor."""

from __future__ import annotations

import logging
from typing import Any

_MARK = "    | "


class LogLineFormatter(logging.Formatter):
    """Formats a record as one line, followed by marked lines of its exception."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _escape(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _mark_lines(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _mark_lines(super().formatStack(stack_info))


def _mark_lines(text: str) -> str:
    return "\n".join(_MARK + _escape(line) for line in text.split("\n"))


def _escape(text: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode() for char in text
    )
