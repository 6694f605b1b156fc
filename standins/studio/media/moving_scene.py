"""A drawn scene in motion: a boat under a turning sun, rolling water, passing gulls, and a title."""

import math
from collections.abc import Iterator
from random import Random

from PIL import Image

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.lettering import Box, draw_title
from standins.studio.media.palette import palette_of, warmth_in
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_words import title_of
from standins.studio.params import VideoParams

SUPERSAMPLE = 1.5


def moving_scene(params: VideoParams, size: tuple[int, int], count: int, seed: int) -> Iterator[Image.Image]:
    """`count` frames in the colours that the params or the prompt name."""
    random = Random(seed)
    palette = palette_of(params.palette_words() or params.prompt, random, warmth_in(params.prompt))
    title = title_of(params.title, params.prompt)
    rays, swell, heading = random.choice((10, 14, 18)), random.uniform(0.8, 1.3), random.choice((-1, 1))
    for number in range(count):
        time = number / params.fps
        sheet = Sheet(size, palette, random, palette.ink, oversample=SUPERSAMPLE)
        _draw_sky(sheet, time, rays)
        _draw_sea(sheet, time, swell, heading)
        _draw_title(sheet, title, min(1.0, max(0.0, (number / count - 0.12) / 0.22)))
        yield sheet.finished()


def _draw_sky(sheet: Sheet, time: float, rays: int) -> None:
    w, h, palette = sheet.width, sheet.height, sheet.palette
    centre = (w * 0.5, h * (0.57 - 0.012 * time))
    radius = min(w, h) * 0.30
    scenery.rays(sheet, centre, rays, time * 0.05, palette.shade(0.13))
    sheet.disc(centre, radius + 3 + 0.6 * math.sin(time * 1.7), palette.shade(0.26))
    sheet.disc(centre, radius, palette.glow)


def _draw_sea(sheet: Sheet, time: float, swell: float, heading: int) -> None:
    w, h = sheet.width, sheet.height
    palette = sheet.palette
    colours = (
        palette.shade(0.62),
        mix(palette.mid, palette.paper, 0.2),
        palette.shade(0.34),
        palette.shade(0.18),
        palette.ink,
    )
    boat_x = w * 0.5 + heading * (time - 2.5) * w * 0.03
    for number, colour in enumerate(colours):
        top = h * (0.59 + 0.06 * number)
        shift = heading * time * (0.06 + 0.03 * number) + 0.37 * number
        sheet.below(sheet.crest(top, (0.7 + 0.3 * number) * swell, 26 + 5 * number, shift), h, colour)
        if number == 1:
            lift = 0.8 * math.sin(2 * math.pi * time / 2.6)
            foot = (boat_x, top + 2.2 + lift)
            scenery.sailboat(sheet, foot, h * 0.40, hull=palette.ink, sail=palette.paper, jib=palette.accent)
    for start, height, span in ((0.10, 0.20, 9.0), (0.24, 0.13, 6.5), (0.62, 0.24, 7.5)):
        x = (w * start + heading * time * 3.4) % (w + 20) - 10
        beat = 0.18 * math.sin(2 * math.pi * (time * 0.9 + start))
        scenery.gull(
            sheet,
            (x, h * height + beat * 3),
            span * (1 - abs(beat) * 0.5),
            beat,
            body=palette.paper,
            tips=palette.paper,
        )


def _draw_title(sheet: Sheet, title: str, strength: float) -> None:
    if strength <= 0 or not title:
        return
    unit, palette = sheet.unit, sheet.palette
    box = Box(8 * unit, sheet.height * 0.868 * unit, (sheet.width - 8) * unit, sheet.height * 0.957 * unit)
    draw_title(sheet.image, title, box, mix(palette.ink, palette.paper, strength), largest=13 * unit)
