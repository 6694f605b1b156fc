"""Draw posters by rule from a prompt and its params."""

from collections.abc import Callable
from random import Random

from PIL import Image

from standins.studio.media.colour import Rgb, named_in
from standins.studio.media.composition import composition_for
from standins.studio.media.lettering import Box, draw_spaced, draw_title
from standins.studio.media.palette import Palette, palette_from, warmth_in
from standins.studio.media.sheet import Sheet
from standins.studio.media.texture import Mark, printed
from standins.studio.media.title_place import TitlePlace
from standins.studio.media.title_words import title_of
from standins.studio.params import ImageParams


def draw_poster(
    params: ImageParams, seed: int, reach: Callable[[float], None], colours: list[Rgb] | None = None
) -> Image.Image:
    """Draw a poster of the size asked for. The same params and seed give the same pixels.

    `reach` is called with the fraction done. `colours` are used when neither the params nor the prompt name any.
    """
    random = Random(seed)
    palette = _palette(params, colours or [], random)
    reach(0.3)
    compose = composition_for(f"{params.prompt} {params.style or ''}", params.variation, random)
    sheet, place = compose(params.dimensions(), palette, random)
    reach(0.5)
    _letter(sheet, place, title_of(params.title, params.prompt), params.subtitle or "")
    reach(0.7)
    return Mark(params.dimensions()).put_on(printed(sheet.finished(), seed))


def _palette(params: ImageParams, colours: list[Rgb], random: Random) -> Palette:
    warmth = params.warmth if params.warmth is not None else warmth_in(params.prompt)
    return palette_from(named_in(params.palette_words() or params.prompt) or colours, random, warmth)


def _letter(sheet: Sheet, place: TitlePlace, title: str, subtitle: str) -> None:
    unit = sheet.unit
    bottom = min(place.box.bottom, place.subtitle_at - 6) if subtitle else place.box.bottom
    box = Box(place.box.left * unit, place.box.top * unit, place.box.right * unit, bottom * unit)
    took = draw_title(sheet.image, title, box, place.colour, align=place.align, largest=26 * unit)
    if took.height == 0:
        _ornament(sheet, place)
    if subtitle:
        line = Box(box.left, (place.subtitle_at - 2) * unit, box.right, (place.subtitle_at + 2) * unit)
        draw_spaced(sheet.image, subtitle, line, place.colour, align=place.align)


def _ornament(sheet: Sheet, place: TitlePlace) -> None:
    """A row of discs where there are no words, or none that the face can draw."""
    middle = (place.box.top + place.box.bottom) / 2
    for step in range(-3, 4):
        centre = ((place.box.left + place.box.right) / 2 + step * 7, middle)
        sheet.disc(centre, 2.4 - 0.5 * abs(step), place.colour)
