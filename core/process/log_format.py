"""Format log records so that quoted text can neither begin a line nor move the cursor."""

from __future__ import annotations

import logging
from typing import Any

_BESIDE = "    | "


class LogLineFormatter(logging.Formatter):
    """One line for each record; behind a mark what there is of an exception."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _escape(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _mark_lines(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _mark_lines(super().formatStack(stack_info))


def _mark_lines(text: str) -> str:
    return "\n".join(_BESIDE + _escape(line) for line in text.split("\n"))


def _escape(text: str) -> str:
    return "".join(
        sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode() for sign in text
    )
