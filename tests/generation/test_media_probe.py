"""Bytes that claim to be works, judged in a child process."""

from __future__ import annotations

import io
import struct
import wave
import zlib

import pytest
from PIL import Image

from generation.execution.settlement import find_media_fault


def png(side: int = 32) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (side, side), (1, 2, 3)).save(stream, "PNG")
    return stream.getvalue()


def wav() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0" * 800)
    return stream.getvalue()


def bomb(side: int = 50_000) -> bytes:
    """A small PNG that says it has 2.5 thousand million pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


def test_a_work_has_no_fault() -> None:
    assert find_media_fault("image", "image/png", png()) is None
    assert find_media_fault("audio", "audio/wav", wav()) is None
    assert find_media_fault("model3d", "model/gltf-binary", b"glTF" + struct.pack("<II", 2, 12)) is None


@pytest.mark.parametrize(
    ("kind", "media_type", "data", "says"),
    [
        ("image", "image/png", b"", "empty"),
        ("image", "text/plain", b"<p>error", "text/plain"),
        ("image", "audio/wav", wav(), "audio/wav"),
        ("image", "image/svg+xml", b"<svg/>", "image/svg"),
        ("image", "image/png", png()[:60], "cannot be decoded"),
        ("image", "image/png", bomb(), "cannot be decoded"),
        ("audio", "audio/wav", b"RIFF\x04\0\0\0WAVE", "cannot be decoded"),
        ("video", "video/mp4", b"\0\0\0\x18ftypmp42" + b"\0" * 64, "cannot be decoded"),
        ("model3d", "model/gltf-binary", b"glTF" + struct.pack("<II", 2, 400), "cannot be decoded"),
    ],
)
def test_what_is_no_work_is_told(kind: str, media_type: str, data: bytes, says: str) -> None:
    assert says in (find_media_fault(kind, media_type, data) or "")
