"""A still picture set in motion: a slow move over it, and passing light."""

import math
from collections.abc import Iterator
from random import Random

import numpy as np
from PIL import Image, ImageChops, ImageEnhance, ImageFilter, ImageOps

LONG_SIDE, SHORT_SIDE = 1280, 720
ZOOM = 0.2


def size_for(picture: Image.Image) -> tuple[int, int]:
    """The size of a film of this picture: its shape, 720 on the short side and at most 1280 on the long one."""
    ratio = max(picture.size) / min(picture.size)
    long = min(LONG_SIDE, round(SHORT_SIDE * ratio))
    short = SHORT_SIDE if long < LONG_SIDE else max(128, round(LONG_SIDE / ratio))
    long, short = long // 2 * 2, short // 2 * 2
    return (long, short) if picture.width >= picture.height else (short, long)


def moving_picture(picture: Image.Image, size: tuple[int, int], count: int, seed: int) -> Iterator[Image.Image]:
    """`count` frames: the picture, seen from near, draws slowly back until all of it is seen, while a soft
    light passes."""
    random = Random(seed)
    stage = _staged(picture, size)
    light = _light(size)
    aim_x, aim_y = random.uniform(0.36, 0.64), random.uniform(0.28, 0.48)
    for number in range(count):
        share = number / max(1, count - 1)
        near = 0.5 + 0.5 * math.cos(math.pi * min(1.0, share * 1.08))
        width, height = stage.width * (1 - ZOOM * near), stage.height * (1 - ZOOM * near)
        left, top = (stage.width - width) * aim_x, (stage.height - height) * aim_y
        frame = stage.resize(size, Image.Resampling.BILINEAR, box=(left, top, left + width, top + height))
        offset = round((light.width - size[0]) * (1 - share))
        yield ImageChops.screen(frame, light.crop((offset, 0, offset + size[0], size[1])))


def _staged(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The picture in the film's shape, a little larger than the film; what its own shape leaves free is filled
    softly."""
    target = (round(size[0] * 1.2), round(size[1] * 1.2))
    shapes = (picture.width / picture.height) / (size[0] / size[1])
    if 0.9 < shapes < 1.11:
        return ImageOps.fit(picture, target, Image.Resampling.LANCZOS)
    ground = ImageOps.fit(picture, target, Image.Resampling.BILINEAR).filter(ImageFilter.GaussianBlur(target[0] / 40))
    ground = ImageEnhance.Brightness(ground).enhance(0.55)
    whole = ImageOps.contain(picture, (round(target[0] * 0.92), round(target[1] * 0.94)), Image.Resampling.LANCZOS)
    ground.paste(whole, ((target[0] - whole.width) // 2, (target[1] - whole.height) // 2))
    return ground


def _light(size: tuple[int, int]) -> Image.Image:
    """A strip three times as wide as the film with one slanting band of warm light in its middle."""
    width, height = size[0] * 3, size[1]
    x = np.arange(width, dtype=np.float32)[None, :]
    y = np.arange(height, dtype=np.float32)[:, None]
    distance = (x - width / 2 + (y - height / 2) * 0.35) / (size[0] * 0.22)
    band = np.exp(-(distance**2))[..., None] * np.array([46.0, 40.0, 28.0], dtype=np.float32)
    return Image.fromarray(band.astype(np.uint8))
