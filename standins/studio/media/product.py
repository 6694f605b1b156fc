"""The result of making a work: its bytes and media type, or why it cannot be made."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MadeMedia:
    """A file's bytes and what they are."""

    data: bytes
    media_type: str


class UnusableInput(Exception):
    """The request cannot be carried out. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
