"""How the broker says no to a skill."""

from __future__ import annotations

from skills.refusals import What


class Denied(Exception):
    """It may not: never done at a retry, and written down as a refusal of the kind `what`."""

    def __init__(self, what: What, detail: str) -> None:
        super().__init__(detail)
        self.what = what


class Failed(Exception):
    """It did not work; nothing to write down."""

    def __init__(self, detail: str, *, retriable: bool) -> None:
        super().__init__(detail)
        self.retriable = retriable
