"""Errors with which the broker refuses a request of a skill."""

from __future__ import annotations

from datetime import timedelta

from skills.book.refusals import RefusalKind


class RequestDenied(Exception):
    """The skill may not do this. Not worth a retry; stored as a refusal of the kind `what`."""

    def __init__(self, what: RefusalKind, detail: str) -> None:
        super().__init__(detail)
        self.what = what


class RequestDeferred(Exception):
    """The skill may do this once a person has raised a limit. Worth a retry after `wait`; not stored."""

    def __init__(self, detail: str, wait: timedelta) -> None:
        super().__init__(detail)
        self.wait = wait


class RequestFailed(Exception):
    """The request did not work. Not stored."""

    def __init__(self, detail: str, *, retriable: bool) -> None:
        super().__init__(detail)
        self.retriable = retriable
