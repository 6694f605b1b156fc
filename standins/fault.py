"""A fault that a test orders a stand-in to show, written `name` or `name:argument`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Fault:
    name: str
    argument: str

    @classmethod
    def parse(cls, text: str) -> Self:
        name, _, argument = text.partition(":")
        return cls(name.strip(), argument.strip())

    def __str__(self) -> str:
        return f"{self.name}:{self.argument}" if self.argument else self.name
