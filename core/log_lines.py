"""How a log is written: what others said in it neither begins a line of its own nor moves the cursor."""

from __future__ import annotations

import logging
from typing import Any

_BESIDE = "    | "


class LogLines(logging.Formatter):
    """One line for each record; behind a mark what there is of an exception."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return _plain(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return _marked(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _marked(super().formatStack(stack_info))


def _marked(text: str) -> str:
    return "\n".join(_BESIDE + _plain(line) for line in text.split("\n"))


def _plain(text: str) -> str:
    return "".join(
        sign if sign.isprintable() or sign == "\t" else sign.encode("unicode_escape").decode() for sign in text
    )
