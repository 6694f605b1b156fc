"""Secrets for skills, stored as files in the home that only its owner can read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from core.errors import InvalidError, NotFoundError

NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
SHORTEST, LONGEST = 4, 8192
"""Lengths in characters. A shorter secret could not be masked, because other text would match it."""


class SecretFiles:
    """Store of secrets: `<home>/keys/secrets/NAME`, files of mode 0600 in a folder of mode 0700.

    A value is one line of printable ASCII, because it must fit into an HTTP header.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / "keys" / "secrets"

    def names(self) -> list[str]:
        """List the names of the stored secrets, sorted."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir() if NAME.fullmatch(path.name) and path.is_file())

    def get(self, name: str) -> str | None:
        """Return the value of a secret, None if it is not stored."""
        try:
            return self._path(name).read_text(encoding="ascii")
        except FileNotFoundError:
            return None

    def set(self, name: str, value: str) -> None:
        """Store or replace a secret atomically. Raises InvalidError, whose message never shows the value."""
        path = self._path(name)
        fit = value.isascii() and value.isprintable() and value == value.strip()
        if not fit or not SHORTEST <= len(value) <= LONGEST:
            raise InvalidError(
                f"a secret is one line of {SHORTEST} to {LONGEST} printable ASCII characters; no space at its ends"
            )
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        os.chmod(self._folder, 0o700)
        unfinished = self._folder / f".{name}.{os.getpid()}"
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(value)
        os.replace(unfinished, path)

    def delete(self, name: str) -> None:
        """Delete a secret; raises NotFoundError."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise NotFoundError(f"there is no secret {name}") from None

    def check(self, name: str) -> None:
        """Raise InvalidError unless a secret can have this name."""
        if not NAME.fullmatch(name):
            raise InvalidError(
                f"{name[:80]!r} is no valid secret name: use capital letters, digits and _, as in METRICS_TOKEN"
            )

    def _path(self, name: str) -> Path:
        self.check(name)
        return self._folder / name
