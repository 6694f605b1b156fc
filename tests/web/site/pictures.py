"""Small real pictures, films and sounds."""

from __future__ import annotations

import io
import math
import struct
import wave
from fractions import Fraction

import av
import numpy as np
from PIL import Image, ImageDraw

CREAM, NAVY = (244, 232, 208), (26, 48, 84)


def poster(words: str, sun: tuple[int, int, int] = (206, 92, 58)) -> bytes:
    """A PNG of 512 × 768."""
    image = Image.new("RGB", (512, 768), CREAM)
    draw = ImageDraw.Draw(image)
    draw.ellipse((116, 90, 396, 370), fill=sun)
    for n in range(7):
        draw.polygon([(0, 430 + 52 * n), (512, 380 + 60 * n), (512, 412 + 60 * n), (0, 462 + 52 * n)], fill=NAVY)
    draw.text((256, 680), words, fill=CREAM, anchor="mm", font_size=44)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def film(seconds: int = 2) -> bytes:
    """An MP4 with H.264, 192 × 128 at 12 pictures a second."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=12)
        stream.width, stream.height, stream.pix_fmt = 192, 128, "yuv420p"
        stream.time_base = Fraction(1, 12)
        for n in range(12 * seconds):
            pixels = np.full((128, 192, 3), NAVY, np.uint8)
            pixels[30:98, 4 * n % 150 : 4 * n % 150 + 40] = CREAM
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    return out.getvalue()


def sound() -> bytes:
    """A WAV of half a second."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(n / 6))) for n in range(4000)))
    return out.getvalue()
