"""Media probe: a program that reads bytes from standard input and tells whether they can be decoded.

It imports none of our modules. It runs as a separate process with limited memory and time, because hostile bytes can
make a decoder grow, hang or crash.
"""

from __future__ import annotations

import io
import resource
import sys
import wave

MEMORY = 2 << 30
CPU_SECONDS = 30
MOST_PIXELS = 100_000_000


def _set_limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _probe_picture(data: bytes) -> str:
    # Imported here: the limits must be set before a decoder is loaded, and a film needs no Pillow.
    from PIL import Image  # noqa: PLC0415

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    with Image.open(io.BytesIO(data)) as image:
        if image.width * image.height > MOST_PIXELS:
            raise ValueError("too many pixels")
        image.load()
        return f"{image.width}x{image.height}"


def _probe_sound(data: bytes) -> str:
    """Read plain WAV without the decoder, which takes half a second to load."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            if sound.readframes(1):
                return f"{sound.getnframes() / sound.getframerate():.1f} s"
    except (wave.Error, EOFError):
        return _probe_stream(data, "audio")
    raise ValueError("no frame")


def _probe_stream(data: bytes, kind: str) -> str:
    import av  # noqa: PLC0415

    with av.open(io.BytesIO(data), mode="r") as container:
        streams = container.streams.video if kind == "video" else container.streams.audio
        for _frame in container.decode(streams[0]):
            seconds = (container.duration or 0) / 1_000_000
            return f"{seconds:.1f} s"
    raise ValueError("no frame")


def _probe_model(data: bytes) -> str:
    version, length = int.from_bytes(data[4:8], "little"), int.from_bytes(data[8:12], "little")
    if data[:4] != b"glTF" or version != 2 or length != len(data):
        raise ValueError("no whole GLB")
    return f"GLB {version}"


def _probe(kind: str, data: bytes) -> str:
    if kind == "image":
        return _probe_picture(data)
    if kind == "model3d":
        return _probe_model(data)
    return _probe_sound(data) if kind == "audio" else _probe_stream(data, kind)


def _main() -> int:
    _set_limits()
    kind, data = sys.argv[1], sys.stdin.buffer.read()
    try:
        summary = _probe(kind, data)
    except Exception as error:  # noqa: BLE001 - any error of a decoder means that the bytes cannot be decoded
        sys.stderr.write(f"{type(error).__name__}: {error}"[:500])
        return 1
    sys.stdout.write(summary)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
