"""Every version's source, kept by its hash: a run may need the code it began with."""

from __future__ import annotations

import os
from pathlib import Path


class Snapshots:
    """Files named by the SHA-256 of what they hold."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha: str) -> Path:
        return self._folder / f"{sha}.py"

    def keep(self, sha: str, source: bytes) -> Path:
        path = self.path(sha)
        if not path.exists():
            unfinished = path.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(source)
            os.replace(unfinished, path)
        return path

    def read(self, sha: str) -> bytes | None:
        try:
            return self.path(sha).read_bytes()
        except FileNotFoundError:
            return None
