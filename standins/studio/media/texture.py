"""Print texture, and the mark that says where a picture comes from."""

import numpy as np
from PIL import Image, ImageDraw

from standins.studio.media.lettering import small_face

WORDS = "offline stand-in"


def printed(image: Image.Image, seed: int) -> Image.Image:
    """The picture with the slight speckle and unevenness of an old print."""
    noise = np.random.default_rng(seed)
    width, height = image.size
    pixels = np.asarray(image, dtype=np.int16).copy()
    cloud = Image.fromarray(noise.integers(0, 256, (height // 160 + 2, width // 160 + 2), dtype=np.uint8))
    uneven = np.asarray(cloud.resize(image.size, Image.Resampling.BICUBIC), dtype=np.int16) // 64 - 2
    speckle = np.where(
        noise.random((height, width), dtype=np.float32) < 0.16, noise.integers(-9, 10, (height, width)), 0
    )
    pixels += (uneven + speckle.astype(np.int16))[..., None]
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


class Mark:
    """Small words for the lower right corner of pictures of one size, light on a dark veil, so that any ground
    shows them."""

    def __init__(self, size: tuple[int, int]) -> None:
        letter = max(11, round(min(size) * 0.0145))
        face = small_face(letter)
        left, top, right, bottom = ImageDraw.Draw(Image.new("L", (1, 1))).textbbox((0, 0), WORDS, font=face)
        pad = letter * 0.45
        width, height = round(right - left + 2 * pad), round(bottom - top + 2 * pad)
        self._patch = Image.new("RGBA", (width, height), (18, 18, 20, 0))
        draw = ImageDraw.Draw(self._patch)
        draw.rounded_rectangle((0, 0, width - 1, height - 1), radius=height / 3, fill=(18, 18, 20, 150))
        draw.text((pad - left, pad - top), WORDS, font=face, fill=(240, 238, 232, 255))
        edge = round(min(size) * 0.006)
        self._place = (size[0] - width - edge, size[1] - height - edge)

    def put_on(self, image: Image.Image) -> Image.Image:
        """The same picture, now with the mark on it."""
        image.paste(self._patch, self._place, self._patch)
        return image
