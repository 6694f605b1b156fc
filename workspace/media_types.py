"""Media types, detected from the bytes themselves."""

from __future__ import annotations

import codecs
import re

import filetype

_HEAD = 8192
_CONTROL_BYTES = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]")
_DECLARABLE = frozenset({"text/markdown", "text/csv", "application/json"})
_COMMON_NAMES = {
    "audio/x-wav": "audio/wav",
    "audio/x-flac": "audio/flac",
    "audio/x-aac": "audio/aac",
    "audio/x-aiff": "audio/aiff",
    "video/x-m4v": "video/mp4",
    "video/x-matroska": "video/matroska",
}
_KINDS = {"image": "image", "video": "video", "audio": "audio", "model": "model3d"}


def kind_of(media_type: str) -> str:
    """Return the kind of object that holds such bytes: a picture, a film, a sound, a model, or else a document."""
    return _KINDS.get(media_type.partition("/")[0], "document")


def is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type == "application/json"


class Sniffer:
    """Detector that is fed with bytes in order.

    Text is UTF-8 from the first byte to the last; HTML and SVG count as plain text, so that nothing executes them.
    """

    def __init__(self) -> None:
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()

    def feed(self, chunk: bytes) -> None:
        if len(self._head) < _HEAD:
            self._head += chunk[: _HEAD - len(self._head)]
        self._read_as_text(chunk, final=False)

    def media_type(self, declared: str | None = None) -> str:
        """Return the type, after the last byte; a `declared` Markdown, CSV or JSON is accepted for a text."""
        self._read_as_text(b"", final=True)
        # Text comes first: the detector takes any bytes that begin with `BM` for a bitmap, even a text.
        if self._decoder is not None and not self._head.startswith(b"%PDF-"):
            return declared if declared in _DECLARABLE else "text/plain"
        if self._head.startswith(b"glTF"):
            return "model/gltf-binary"
        kind = filetype.guess(self._head)
        found = str(kind.mime) if kind else "application/octet-stream"
        return _COMMON_NAMES.get(found, found)

    def _read_as_text(self, chunk: bytes, *, final: bool) -> None:
        """Drop the decoder once the bytes are no text."""
        if self._decoder is None:
            return
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self._decoder = None
            return
        if _CONTROL_BYTES.search(chunk):
            self._decoder = None
