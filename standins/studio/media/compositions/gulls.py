"""Composition with large gulls."""

from random import Random

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace, at_foot


def gulls(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Great gulls cross a slit sun over patterned water; the title on a light band at the foot."""
    sheet = Sheet(size, palette, random, palette.shade(0.3))
    w, h = sheet.width, sheet.height
    band = h * (0.765 if sheet.tall else 0.73)
    water = band - h * (0.19 if sheet.tall else 0.17)
    low = palette.shade(0.3)
    for number in range(1, 6):
        sheet.box(0, 0, w, h * (0.46 - 0.08 * number), palette.shade(0.30 - 0.045 * number))
    radius = min(w * 0.36, h * 0.27)
    centre = (w * 0.5, water - radius * 0.82)
    scenery.slit_sun(sheet, centre, radius, palette.glow, ground=low, slits=6)
    sheet.box(0, water, w, h, palette.ink)
    rings = (palette.ink, palette.shade(0.5), palette.ink)
    fan = w / 12 if sheet.tall else w / 18
    scenery.scale_waves(sheet, water + fan * 0.4, band, fan, outer=palette.paper, rings=rings)
    flock = ((-0.14, -0.14, 0.72, -0.22), (0.30, -0.55, 0.38, 0.16), (0.34, 0.10, 0.46, 0.10))
    for x, y, span, bank in flock:
        at = (centre[0] + x * radius * 2, centre[1] + y * radius)
        tilt = bank + random.uniform(-0.05, 0.05)
        scenery.gull(sheet, at, span * radius * 2, tilt, body=palette.paper, tips=palette.ink)
    sheet.frame(2.6, 0.5, palette.paper)
    sheet.box(0, band, w, h, palette.paper)
    sheet.box(0, band, w, band + 1.1, mix(palette.accent, palette.ink, 0.15))
    return sheet, at_foot(8, band + 5.5, w - 8, h - 6, palette.ink)
