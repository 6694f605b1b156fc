"""Composition of rings and rays."""

import math
from random import Random

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace, at_foot


def orbit(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Rings, beams and discs in free balance on light ground; the title on a dark band with lines above it."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    band = h * 0.70
    centre = (w * 0.5, band * 0.51)
    radius = min(w * 0.40, h * 0.28)
    scenery.rays(sheet, centre, 20, random.random(), mix(palette.paper, palette.mid, 0.16))
    for number in range(4, 0, -1):
        colour = (palette.glow, palette.paper, palette.mid, palette.ink)[number - 1]
        sheet.disc(centre, radius * (0.28 + 0.18 * number), colour)
    sheet.slice(centre, radius, 180, 270, palette.accent)
    start = random.uniform(0, 2 * math.pi)
    for number in range(3):
        angle = start + number * 2.1
        at = (centre[0] + radius * 0.91 * math.cos(angle), centre[1] + radius * 0.91 * math.sin(angle))
        sheet.disc(at, 3.2 + number, palette.accent if number % 2 else palette.paper)
    sheet.box(0, band, w, h, palette.ink)
    for number in range(3):
        top = band + 1.4 + 2.2 * number
        sheet.box(0, top, w, top + 0.8, palette.shade(0.8 - 0.25 * number))
    return sheet, at_foot(8, band + 11, w - 8, h - 7, palette.paper)
