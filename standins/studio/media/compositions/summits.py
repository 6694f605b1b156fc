"""Composition with mountains."""

from random import Random

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace, at_foot


def summits(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Ridge behind ridge under a high sun, firs in front; the title in the dark foreground."""
    sheet = Sheet(size, palette, random, mix(palette.paper, palette.mid, 0.16))
    w, h = sheet.width, sheet.height
    foot = h * (0.765 if sheet.tall else 0.72)
    centre = (w * random.uniform(0.36, 0.64), h * 0.25)
    radius = min(w, h) * 0.17
    for number in range(3):
        sheet.ring(centre, radius + 3 + 3.2 * number, 0.45, mix(palette.glow, palette.paper, 0.2 + 0.2 * number))
    sheet.disc(centre, radius, palette.glow)
    for number, share in enumerate((0.66, 0.48, 0.32, 0.18)):
        colour = mix(palette.shade(share), palette.mid, 0.25)
        base = foot - h * (0.205 - 0.075 * number)
        scenery.ridge(sheet, base, h * (0.24 - 0.035 * number), round((3 + number) * max(1, w / 100)), colour)
    sheet.below(sheet.crest(foot - h * 0.01, 1.2, w * 0.9, random.random()), h, palette.ink)
    x = -1.0
    while x < w + 2:
        scenery.fir(sheet, (x, foot + 1), random.uniform(0.07, 0.15) * h, palette.ink)
        x += random.uniform(3.0, 6.5)
    sheet.box(0, foot, w, h, palette.ink)
    sheet.frame(2.6, 0.5, palette.paper)
    return sheet, at_foot(8, foot + 4.5, w - 8, h - 8, palette.paper)
