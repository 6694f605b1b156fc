"""What comes out of the making of something."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Made:
    """A file's bytes and what they are."""

    data: bytes
    media_type: str


class Unusable(Exception):
    """The request cannot be carried out. `code` is for programs, the message for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
