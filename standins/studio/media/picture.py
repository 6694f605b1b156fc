"""Pictures that a job is given: open them with care, recolour or enhance them."""

import io
import re
from random import Random

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter, ImageOps, UnidentifiedImageError

from standins.studio.media.colour import Rgb, luminance, named_in
from standins.studio.media.palette import Palette, palette_from, warmth_in
from standins.studio.media.product import UnusableInput
from standins.studio.params import ImageParams

MOST_PIXELS = 50_000_000
LONGEST_SIDE = 4096
ENHANCE = r"\b(enhance|upscale|enlarge|sharpen|sharper|higher resolution|high.?res|hd|restore)"
RECOLOUR = (
    r"\b(warmer|cooler|colder|darker|lighter|brighter|redder|bluer|less warm|more warmth|recolou?r|re-?tint|duotone"
    r"|plus (chaud|froid|sombre|clair)e?s?)\b"
)


def open_picture(data: bytes) -> Image.Image:
    """The picture as RGB, upright, on white where it is transparent. Raise UnusableInput."""
    try:
        opened = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP"))
        if opened.width * opened.height > MOST_PIXELS:
            raise UnusableInput(
                "input_too_large", f"the picture has more than {MOST_PIXELS} pixels; send a smaller one"
            )
        image = ImageOps.exif_transpose(opened).convert("RGBA")
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise UnusableInput("input_unreadable", "the picture cannot be read; send a PNG, JPEG or WebP file") from error
    ground = Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def operation_on(params: ImageParams, role: str) -> str:
    """Return what to do with a given picture: `enhance`, `recolour`, or `create` a new one in its colours.

    The role of a picture to change is `source`; a `reference` is only looked at.
    """
    prompt = params.prompt
    if params.operation is not None:
        return params.operation
    if re.search(ENHANCE, prompt, re.IGNORECASE) or not prompt:
        return "enhance"
    if params.warmth or re.search(RECOLOUR, prompt, re.IGNORECASE):
        return "recolour"
    named = role == "source" and named_in(params.palette_words() or prompt)
    return "recolour" if named else "create"


def enhanced(image: Image.Image, params: ImageParams) -> Image.Image:
    """The picture twice as large (or of the size asked for), clearer and a little crisper."""
    if params.size is None:
        scale = min(2.0, LONGEST_SIDE / max(image.size))
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS)
    else:
        image = ImageOps.fit(image, params.dimensions(), Image.Resampling.LANCZOS)
    image = image.filter(ImageFilter.UnsharpMask(radius=2.2, percent=90, threshold=2))
    return ImageEnhance.Contrast(image).enhance(1.04)


def recoloured(image: Image.Image, params: ImageParams, random: Random) -> Image.Image:
    """The same picture in another light (warmer, cooler, darker, lighter) or in the colours that the params name."""
    if params.size is not None:
        image = ImageOps.fit(image, params.dimensions(), Image.Resampling.LANCZOS)
    warmth = params.warmth if params.warmth is not None else warmth_in(params.prompt)
    lift = _lift_in(params.prompt)
    named = named_in(params.palette_words() or params.prompt)
    if named:
        own = sorted(colours_of(image), key=luminance)
        image = _in_colours(image, palette_from([*named, own[0], own[-1]], random, 0.0))
    elif not warmth and not lift:
        warmth = 0.6
    return _relit(image, warmth, lift)


def _lift_in(prompt: str) -> float:
    if re.search(r"\b(darker|plus sombres?)\b", prompt, re.IGNORECASE):
        return -0.35
    return 0.35 if re.search(r"\b(lighter|brighter|plus claire?s?)\b", prompt, re.IGNORECASE) else 0.0


def colours_of(image: Image.Image) -> list[Rgb]:
    """The few colours that make up most of a picture, most frequent first."""
    small = image.resize((96, 96), Image.Resampling.BOX).quantize(6, Image.Quantize.MEDIANCUT)
    flat = small.getpalette() or []
    counts = sorted(small.getcolors() or [], reverse=True)
    return [
        (flat[3 * index], flat[3 * index + 1], flat[3 * index + 2]) for _, index in counts if isinstance(index, int)
    ]


def _relit(image: Image.Image, warmth: float, lift: float) -> Image.Image:
    pixels = (np.asarray(image, dtype=np.float32) / 255) ** (2.0**-lift)
    light = pixels.mean(axis=2, keepdims=True)
    toward = np.array([1.0, 0.80, 0.50] if warmth > 0 else [0.62, 0.84, 1.0], dtype=np.float32)
    strength = abs(warmth)
    tinted = pixels * (1 - 0.42 * strength * (1 - toward))
    lifted = tinted + 0.07 * strength * toward * light * (1 - light) * 4
    return Image.fromarray((np.clip(lifted, 0, 1) * 255).astype(np.uint8))


def _in_colours(image: Image.Image, palette: Palette) -> Image.Image:
    stops = sorted((palette.ink, palette.mid, palette.glow, palette.paper), key=luminance)
    at = [0.0, 0.38, 0.68, 1.0]
    light = np.asarray(ImageOps.autocontrast(image.convert("L"), cutoff=1), dtype=np.float32) / 255
    channels = [np.interp(light, at, [stop[channel] for stop in stops]) for channel in range(3)]
    return Image.fromarray(np.stack(channels, axis=2).astype(np.uint8))
