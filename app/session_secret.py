"""The secret that signs browser sessions. It is kept in the home, so that a restart keeps people signed in."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

_NAME = "session"


def session_secret(home: Path) -> str:
    """Return the home's session secret. Create it, readable by its owner only, if there is none."""
    path = home / "keys" / _NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.read_bytes().strip():
        # With an empty secret everybody could sign a session.
        path.unlink(missing_ok=True)
    if not path.exists():
        _write_once(path, secrets.token_urlsafe(48))
    return path.read_text(encoding="ascii").strip()


def _write_once(path: Path, text: str) -> None:
    # Several web processes may start together: the first link wins, and the file is whole when it appears.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
