"""The feel of print: speckle and uneven ink, and the mark that says where a picture comes from."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from app.standins.studio.media.lettering import small_face

MARK = "offline stand-in"


def printed(image: Image.Image, seed: int) -> Image.Image:
    """The picture with the slight speckle and unevenness of an old print."""
    noise = np.random.default_rng(seed)
    width, height = image.size
    pixels = np.asarray(image, dtype=np.int16).copy()
    cloud = Image.fromarray(noise.integers(0, 256, (height // 48 + 2, width // 48 + 2), dtype=np.uint8))
    uneven = np.asarray(cloud.resize(image.size, Image.Resampling.BICUBIC), dtype=np.int16) // 32 - 4
    speckle = np.where(
        noise.random((height, width), dtype=np.float32) < 0.16, noise.integers(-9, 10, (height, width)), 0
    )
    pixels += (uneven + speckle.astype(np.int16))[..., None]
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def marked(image: Image.Image) -> Image.Image:
    """The picture with a small mark in its lower right corner, light on a dark veil, so that it is seen on any ground."""
    size = max(11, round(min(image.size) * 0.0145))
    face = small_face(size)
    left, top, right, bottom = ImageDraw.Draw(image).textbbox((0, 0), MARK, font=face)
    pad = size * 0.45
    width, height = right - left + 2 * pad, bottom - top + 2 * pad
    edge = round(min(image.size) * 0.006)
    x, y = image.width - width - edge, image.height - height - edge
    veil = Image.new("L", image.size, 0)
    ImageDraw.Draw(veil).rounded_rectangle((x, y, x + width, y + height), radius=height / 3, fill=150)
    image.paste((18, 18, 20), mask=veil.filter(ImageFilter.GaussianBlur(0.6)))
    ImageDraw.Draw(image).text((x + pad - left, y + pad - top), MARK, font=face, fill=(240, 238, 232))
    return image
