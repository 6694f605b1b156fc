"""Asset store: the bytes of works under their own SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from core.errors import InvalidError, NotFoundError
from workspace.media_types import Sniffer

CHUNK = 1 << 20
SIZE_LIMIT = 256 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Asset:
    """Stored bytes. `size` is in bytes; `media_type` is detected from the bytes."""

    sha256: str
    size: int
    media_type: str


class Assets:
    """Store of bytes at any fsspec address. A stored file is always complete and never changes."""

    def __init__(self, url: str, *, size_limit: int = SIZE_LIMIT) -> None:
        self._files, self._root = url_to_fs(url)
        self._local = isinstance(self._files, LocalFileSystem)
        self._size_limit = size_limit

    def put(self, data: bytes | IO[bytes] | Iterable[bytes], *, declared: str | None = None) -> Asset:
        """Store bytes, unless they are stored already. `declared` may only refine the type of a text.

        Raises InvalidError when there are more bytes than the store takes; none of them are kept then.
        """
        digest, sniffer, size = hashlib.sha256(), Sniffer(), 0
        with _Incoming(Path(self._root) if self._local else None) as incoming:
            for chunk in _chunks(data):
                size += len(chunk)
                if size > self._size_limit:
                    raise InvalidError(f"more than the {self._size_limit} bytes that a file may have")
                digest.update(chunk)
                sniffer.feed(chunk)
                incoming.file.write(chunk)
            sha256 = digest.hexdigest()
            self._store(incoming, sha256, size)
        return Asset(sha256, size, sniffer.media_type(declared))

    def exists(self, sha256: str) -> bool:
        return bool(self._files.exists(self._path(sha256)))

    def open(self, sha256: str) -> IO[bytes]:
        """Open a seekable stream, which the caller closes; raises NotFoundError."""
        try:
            return cast(IO[bytes], self._files.open(self._path(sha256), "rb"))
        except FileNotFoundError:
            raise NotFoundError(f"no bytes are stored as {sha256}") from None

    def read(self, sha256: str) -> bytes:
        """Read all the bytes of something known to be small; raises NotFoundError."""
        with self.open(sha256) as stream:
            return stream.read()

    def chunks(self, sha256: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from `start` up to `stop` in chunks; raises NotFoundError before the first."""
        return _range(self.open(sha256), start, stop)

    def _store(self, incoming: _Incoming, sha256: str, size: int) -> None:
        path = self._path(sha256)
        if self._files.exists(path) and self._files.size(path) == size:
            return
        if self._local:
            incoming.move_to(Path(path))
        else:
            incoming.file.flush()
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.put_file(incoming.path, path)

    def _path(self, sha256: str) -> str:
        if not _SHA256.fullmatch(sha256):
            raise NotFoundError(f"{sha256[:80]!r} names no bytes: it is no SHA-256 in lower-case hex")
        return f"{self._root}/{sha256[:2]}/{sha256}"


class _Incoming:
    """Temporary file of bytes that arrive.

    For a local store it is inside the store's own folder, so that a rename moves it to its place in one step.
    """

    def __init__(self, root: Path | None) -> None:
        self._folder = root / "incoming" if root else Path(tempfile.gettempdir())
        self.path = str(self._folder / f"loopwright-{secrets.token_hex(16)}")

    def __enter__(self) -> _Incoming:
        self._folder.mkdir(parents=True, exist_ok=True)
        self.file: IO[bytes] = open(self.path, "xb")
        return self

    def move_to(self, path: Path) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path, path)
        # The name survives a power failure only when its folder is on disk too.
        for folder in (path.parent, path.parent.parent):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def __exit__(self, *_error: Any) -> None:
        self.file.close()
        with suppress(FileNotFoundError):
            os.unlink(self.path)


def _chunks(data: bytes | IO[bytes] | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(data, bytes):
        yield data
    elif hasattr(data, "read"):
        stream = cast(IO[bytes], data)
        while chunk := stream.read(CHUNK):
            yield chunk
    else:
        yield from data


def _range(stream: IO[bytes], start: int, stop: int | None) -> Iterator[bytes]:
    with stream:
        stream.seek(start)
        left = None if stop is None else max(0, stop - start)
        while left is None or left > 0:
            chunk = stream.read(CHUNK if left is None else min(CHUNK, left))
            if not chunk:
                return
            if left is not None:
                left -= len(chunk)
            yield chunk
