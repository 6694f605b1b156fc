"""Posters, drawn by rule from a prompt and its params."""

from collections.abc import Callable
from random import Random

from PIL import Image

from app.standins.studio.media.compositions import TitlePlace, composition_for
from app.standins.studio.media.lettering import Box, draw_spaced, draw_title
from app.standins.studio.media.palette import Palette, palette_of, warmth_in
from app.standins.studio.media.sheet import Sheet
from app.standins.studio.media.texture import marked, printed
from app.standins.studio.media.wording import title_of
from app.standins.studio.params import ImageParams


def draw_poster(params: ImageParams, seed: int, reach: Callable[[float], None]) -> Image.Image:
    """A poster of the size asked for. The same params and seed give the same pixels; `reach` hears how far it is."""
    random = Random(seed)
    palette = poster_palette(params, random)
    reach(0.3)
    compose = composition_for(f"{params.prompt} {params.style or ''}", params.variation, random)
    sheet, place = compose(params.dimensions(), palette, random)
    reach(0.5)
    _letter(sheet, place, title_of(params.title, params.prompt), params.subtitle or "")
    reach(0.7)
    return marked(printed(sheet.finished(), seed))


def poster_palette(params: ImageParams, random: Random) -> Palette:
    """The colours that the params, or else the prompt, ask for."""
    warmth = params.warmth if params.warmth is not None else warmth_in(params.prompt)
    return palette_of(params.palette_words() or params.prompt, random, warmth)


def _letter(sheet: Sheet, place: TitlePlace, title: str, subtitle: str) -> None:
    unit = sheet.unit
    box = Box(place.box.left * unit, place.box.top * unit, place.box.right * unit, place.box.bottom * unit)
    draw_title(sheet.image, title, box, place.colour, place.align, largest=26 * unit)
    if subtitle and place.subtitle is not None:
        x, y, width = place.subtitle
        draw_spaced(sheet.image, subtitle, (x * unit, y * unit), 3.4 * unit, width * unit, place.colour)
