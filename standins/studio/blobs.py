"""Files named by the SHA-256 of their bytes, written atomically."""

import hashlib
import os
import tempfile
from pathlib import Path


class Blobs:
    """A folder of content-addressed files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep `data` for good and return its SHA-256; keeping the same bytes again changes nothing."""
        sha256 = hashlib.sha256(data).hexdigest()
        path = self._folder / sha256
        if path.exists():
            return sha256
        handle, draft = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        return sha256

    def path(self, sha256: str) -> Path | None:
        """Where the bytes are, or None when there are none of that hash."""
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            return None
        path = self._folder / sha256
        return path if path.is_file() else None

    def sweep(self) -> None:
        """Remove drafts that a killed process left behind."""
        for draft in self._folder.glob("*.part"):
            draft.unlink(missing_ok=True)
