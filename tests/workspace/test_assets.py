"""Bytes: whole or not there, once, and of the type that they look like."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import struct
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from PIL import Image

from core.errors import InvalidError, NotFoundError
from workspace.assets import Assets
from workspace.media_types import kind_of


def picture(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), "navy").save(stream, kind)
    return stream.getvalue()


def sound() -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\0\1" * 100)
    return stream.getvalue()


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_bytes_come_back_as_they_were(assets: Assets) -> None:
    data = os.urandom(3_000_000)
    kept = assets.put(data)
    assert (kept.sha256, kept.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert assets.read(kept.sha256) == data
    assert b"".join(assets.chunks(kept.sha256)) == data
    assert b"".join(assets.chunks(kept.sha256, 1_000_000, 2_500_001)) == data[1_000_000:2_500_001]
    assert b"".join(assets.chunks(kept.sha256, 2_999_999, 9_000_000)) == data[2_999_999:]
    assert b"".join(assets.chunks(kept.sha256, 5, 5)) == b""


def test_bytes_streams_and_chunks_are_the_same(assets: Assets) -> None:
    data = b"abc" * 1000
    assert assets.put(data) == assets.put(io.BytesIO(data)) == assets.put(iter([b"abc"] * 1000))


def test_what_is_there_is_not_written_again(assets: Assets, tmp_path: Path) -> None:
    assets.put(b"once")
    (path,) = files_in(tmp_path / "assets")
    before = path.stat()
    assets.put(b"once")
    assert files_in(tmp_path / "assets") == [path]
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_file_cut_by_a_broken_disk_is_written_again(assets: Assets, tmp_path: Path) -> None:
    kept = assets.put(b"whole bytes")
    (path,) = files_in(tmp_path / "assets")
    path.write_bytes(b"who")
    assets.put(b"whole bytes")
    assert assets.read(kept.sha256) == b"whole bytes"


def test_too_many_bytes_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    assets = Assets(f"file://{tmp_path / 'assets'}", size_limit=10)
    assert assets.put(b"x" * 10).size == 10
    with pytest.raises(InvalidError, match="10 bytes"):
        assets.put(iter([b"y"] * 11))
    assert len(files_in(tmp_path / "assets")) == 1


def test_a_sender_that_breaks_off_leaves_nothing(assets: Assets, tmp_path: Path) -> None:
    def sender() -> Iterator[bytes]:
        yield b"half"
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError):
        assets.put(sender())
    assert files_in(tmp_path / "assets") == []


def test_a_killed_process_leaves_no_half_asset(assets: Assets, tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from workspace.assets import Assets\n"
        "def parts():\n"
        "    yield b'half'\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "Assets(sys.argv[1]).put(parts())\n"
    )
    url = f"file://{tmp_path / 'assets'}"
    done = subprocess.run([sys.executable, "-c", program, url], timeout=60, check=False, cwd=os.getcwd())
    assert done.returncode == -signal.SIGKILL
    half = hashlib.sha256(b"half").hexdigest()
    assert not assets.exists(half)
    assert assets.read(assets.put(b"half").sha256) == b"half"


@pytest.mark.parametrize("name", ["0" * 64, "../../etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_name_that_is_not_there_is_not_found(assets: Assets, name: str) -> None:
    for ask in (assets.open, assets.read, assets.chunks, assets.exists):
        if ask == assets.exists and len(name) == 64 and name == "0" * 64:
            assert not assets.exists(name)
            continue
        with pytest.raises(NotFoundError):
            ask(name)


def test_a_store_without_files_of_its_own_works_alike() -> None:
    assets = Assets(f"memory://{uuid4()}/works")
    kept = assets.put(b"in memory")
    assert assets.put(b"in memory") == kept
    assert assets.read(kept.sha256) == b"in memory"
    assert b"".join(assets.chunks(kept.sha256, 3)) == b"memory"
    with pytest.raises(NotFoundError):
        assets.read("0" * 64)


@pytest.mark.parametrize(
    ("data", "declared", "found"),
    [
        (picture("PNG"), None, "image/png"),
        (picture("JPEG"), "text/html", "image/jpeg"),
        (picture("WEBP"), None, "image/webp"),
        (picture("GIF"), None, "image/gif"),
        (picture("BMP"), None, "image/bmp"),
        (sound(), None, "audio/wav"),
        (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + b"\0" * 64, None, "video/mp4"),
        (b"glTF" + struct.pack("<II", 2, 12), None, "model/gltf-binary"),
        (b"%PDF-1.7\n1 0 obj\n", None, "application/pdf"),
        ("# Façade\n".encode(), "text/markdown", "text/markdown"),
        ("# Façade\n".encode(), None, "text/plain"),
        (b"BMW is a car maker", None, "text/plain"),
        (b"ID3 tags explained", None, "text/plain"),
        (b"", None, "text/plain"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>', "image/svg+xml", "text/plain"),
        (b"<html><script>alert(1)</script></html>", "text/html", "text/plain"),
        (b'{"a": 1}', "application/json", "application/json"),
        (b"\xff\xfe\x00\x01junk", "image/png", "application/octet-stream"),
        (b"text, then" + b"." * 10_000 + b"\0", "text/markdown", "application/octet-stream"),
        ("é".encode()[:1], None, "application/octet-stream"),
    ],
)
def test_the_type_is_what_the_bytes_look_like(assets: Assets, data: bytes, declared: str | None, found: str) -> None:
    assert assets.put(data, declared=declared).media_type == found
    assert assets.put(iter([data[n : n + 1] for n in range(len(data))]), declared=declared).media_type == found


def test_kinds_follow_from_types() -> None:
    assert [kind_of(media_type) for media_type in ("image/png", "video/mp4", "audio/wav", "model/gltf-binary")] == [
        "image",
        "video",
        "audio",
        "model3d",
    ]
    assert kind_of("text/markdown") == kind_of("application/pdf") == "document"
