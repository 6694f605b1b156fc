"""Composition with a boat under sail."""

from random import Random

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace, at_foot


def regatta(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """A boat before a rising sun with rays, on dark ground; the title below on the darkest water."""
    sheet = Sheet(size, palette, random, palette.ink)
    w, h = sheet.width, sheet.height
    horizon, foot = (h * 0.60, h * 0.745) if sheet.tall else (h * 0.56, h * 0.71)
    depth = foot - horizon
    centre = (w * random.uniform(0.47, 0.53), horizon - h * 0.06)
    scenery.rays(sheet, centre, 14, random.random(), palette.shade(0.13))
    radius = min(w * 0.33, h * 0.26)
    sheet.disc(centre, radius + 3.2, palette.shade(0.26))
    sheet.disc(centre, radius, palette.glow)
    reach = min(w, h * 0.9)
    for dx, dy, span in ((-0.36, -0.37, 11.0), (-0.22, -0.43, 7.5), (0.36, -0.32, 8.5)):
        at = (centre[0] + dx * reach, horizon + dy * h)
        scenery.gull(sheet, at, span, dx * 0.6, body=palette.paper, tips=palette.paper)
    bands = [palette.shade(0.62), mix(palette.mid, palette.paper, 0.2), palette.shade(0.42)]
    scenery.waves(sheet, horizon, horizon + depth * 0.8, bands, length=26, rise=0.9)
    boat = min(w * 0.62, h * 0.43)
    waterline = (w * 0.5, horizon + depth * 0.35)
    scenery.sailboat(sheet, waterline, boat, hull=palette.ink, sail=palette.paper, jib=palette.accent)
    sheet.below(sheet.crest(horizon + depth * 0.43, 1.0, 21, random.random()), h, palette.shade(0.36))
    sheet.below(sheet.crest(horizon + depth * 0.70, 1.3, 29, random.random()), h, palette.shade(0.18))
    sheet.below(sheet.crest(foot, 1.5, 36, random.random()), h, palette.ink)
    sheet.frame(2.6, 0.5, palette.paper)
    return sheet, at_foot(8, foot + 5.5, w - 8, h - 8, palette.paper)
