"""Whether what a provider made is what was ordered: judged by the bytes, in a child process with limits."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from generation import media_probe

TYPES: dict[str, frozenset[str]] = {
    "image": frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    "video": frozenset({"video/mp4", "video/webm", "video/quicktime"}),
    "audio": frozenset({"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/aac"}),
    "model3d": frozenset({"model/gltf-binary"}),
}
PROBE_SECONDS = 60


def fault_of(kind: str, media_type: str, data: bytes) -> str | None:
    """Why bytes are no work of this kind, or None when they are one. `media_type` is what they look like."""
    if not data:
        return "the provider's output is empty"
    if media_type not in TYPES[kind]:
        return f"the provider's output is {media_type}, not {kind}"
    return _undecodable(kind, data)


def _undecodable(kind: str, data: bytes) -> str | None:
    program = [sys.executable, "-I", str(Path(media_probe.__file__)), kind]
    try:
        done = subprocess.run(program, input=data, capture_output=True, timeout=PROBE_SECONDS, check=False, env={})
    except subprocess.TimeoutExpired:
        return f"the provider's output takes more than {PROBE_SECONDS} s to decode"
    if done.returncode == 0:
        return None
    said = done.stderr.decode(errors="replace")[-300:] or f"the decoder ended with {done.returncode}"
    return f"the provider's output cannot be decoded: {said}"
