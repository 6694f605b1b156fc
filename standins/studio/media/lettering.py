"""Lettering that fits: fonts, line breaks and sizes."""

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from PIL import Image, ImageDraw, ImageFont

from standins.studio.media.colour import Rgb

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
LEADING = 1.2
MOST_LINES = 4
FEW_WORDS = 9


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


@lru_cache(maxsize=256)
def display_face(size: int) -> Font:
    """Fjalla One, a condensed poster face (SIL Open Font Licence), at this size in pixels."""
    return ImageFont.truetype(str(files("font_fjallaone") / "files" / "FjallaOne-Regular.ttf"), size)


@lru_cache(maxsize=64)
def small_face(size: int) -> Font:
    """Pillow's own face at this size in pixels."""
    return ImageFont.load_default(size)


def drawable(text: str, face: Font) -> str:
    """The text without the characters the face has no shape for."""
    blank = _shape(face, "\U0010ffff")
    return "".join(char for char in " ".join(text.split()) if char == " " or _shape(face, char) != blank).strip()


def draw_title(
    image: Image.Image, text: str, box: Box, colour: Rgb, *, align: str = "center", largest: float | None = None
) -> Box:
    """Draw `text` in capitals as large as the box allows, on as many lines as suit it, and return the room it took.

    `align` is left or center. `largest` limits the size in pixels.
    """
    words = drawable(text.upper(), display_face(40)).split()
    if not words:
        return Box(box.left, box.top, box.left, box.top)
    size, lines = max((_largest_size(lines, box, largest), lines) for lines in _line_breaks(words))
    face = display_face(size)
    draw = ImageDraw.Draw(image)
    step = _cap_height(size) * LEADING
    height = step * (len(lines) - 1) + _cap_height(size)
    top = box.top + (box.height - height) / 2
    for number, line in enumerate(lines):
        width = draw.textlength(line, font=face)
        left = box.left + (0 if align == "left" else (box.width - width) / 2)
        draw.text((left, top + number * step + _cap_height(size)), line, font=face, fill=colour, anchor="ls")
    return Box(box.left, top, box.right, top + height)


def draw_spaced(image: Image.Image, text: str, box: Box, colour: Rgb, *, align: str = "center") -> None:
    """Draw one line of widely spaced capitals, as high as the box at most and made smaller until it fits its width."""
    text = drawable(text.upper(), display_face(40))
    draw = ImageDraw.Draw(image)
    size = box.height
    while True:
        face, gap = display_face(max(8, round(size))), size * 0.28
        length = sum(draw.textlength(char, font=face) + gap for char in text) - gap
        if length <= box.width or size <= 8:
            break
        size *= 0.94
    left = box.left + (0 if align == "left" else (box.width - length) / 2)
    base = (box.top + box.bottom) / 2 + _cap_height(round(size)) / 2
    for char in text:
        draw.text((left, base), char, font=face, fill=colour, anchor="ls")
        left += draw.textlength(char, font=face) + gap


def _line_breaks(words: list[str]) -> list[tuple[str, ...]]:
    """Every way to set a few words on at most four lines; for many words, an even setting on each number of lines."""
    if len(words) > FEW_WORDS:
        return [_even_lines(words, count) for count in range(2, 8)]
    ways: list[tuple[str, ...]] = []
    for cuts in range(2 ** (len(words) - 1)):
        lines = [words[0]]
        for number, word in enumerate(words[1:]):
            if cuts >> number & 1:
                lines.append(word)
            else:
                lines[-1] += " " + word
        if len(lines) <= MOST_LINES:
            ways.append(tuple(lines))
    return ways


def _even_lines(words: list[str], count: int) -> tuple[str, ...]:
    share = len(" ".join(words)) / count
    lines = [words[0]]
    for word in words[1:]:
        if len(" ".join(lines)) + len(word) / 2 < share * len(lines):
            lines[-1] += " " + word
        else:
            lines.append(word)
    return tuple(lines)


def _largest_size(lines: tuple[str, ...], box: Box, largest: float | None) -> int:
    widest = max(display_face(100).getlength(line) for line in lines) / 100
    cap = _cap_height(100) / 100
    tall = cap + (len(lines) - 1) * cap * LEADING
    return max(10, int(min(box.width / widest, box.height / tall, largest or 10_000)))


def _cap_height(size: int) -> float:
    return -display_face(size).getbbox("H", anchor="ls")[1]


def _shape(face: Font, char: str) -> bytes:
    return bytes(face.getmask(char))
