"""Errors with which the broker refuses a request of a skill."""

from __future__ import annotations

from datetime import timedelta

from skills.book.refusals import RefusalKind


class RequestDenied(Exception):
    """It may not: never done at a retry, and written down as a refusal of the kind `what`."""

    def __init__(self, what: RefusalKind, detail: str) -> None:
        super().__init__(detail)
        self.what = what


class RequestDeferred(Exception):
    """It may once a person has raised a limit: worth another try after `wait`, and nothing to write down."""

    def __init__(self, detail: str, wait: timedelta) -> None:
        super().__init__(detail)
        self.wait = wait


class RequestFailed(Exception):
    """It did not work; nothing to write down."""

    def __init__(self, detail: str, *, retriable: bool) -> None:
        super().__init__(detail)
        self.retriable = retriable
