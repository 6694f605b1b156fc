"""What a process is told on its command line."""

from __future__ import annotations

from dataclasses import dataclass

from core.settings import Settings


@dataclass(frozen=True)
class Ask:
    """`supervised`: a supervisor stops this process, so that Ctrl-C is not for it and a stop is quick."""

    settings: Settings
    host: str
    port: int
    supervised: bool = False
    test_clock: bool = False

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"
