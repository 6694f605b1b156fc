"""Composition with a lighthouse."""

from random import Random

from standins.studio.media import scenery
from standins.studio.media.colour import mix
from standins.studio.media.lettering import Box
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace


def beacon(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Draw a lighthouse with its beam across a banded sky; the title is in the light sky, clear of the tower."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    horizon = h * 0.74
    first = 0.335 if sheet.tall else 0.50
    for number in range(5):
        top = h * (first + (0.74 - first) * number / 5)
        sheet.box(0, top, w, h, mix(palette.paper, palette.mid, 0.12 + 0.15 * number))
    tower = h * (0.355 if sheet.tall else 0.52)
    foot = (w * (0.755 if sheet.tall else 0.79), horizon - h * 0.055)
    lamp = (foot[0], foot[1] - tower * 0.855)
    beam = mix(palette.glow, palette.paper, 0.35)
    if sheet.tall:
        sheet.polygon([lamp, (-2, lamp[1] - h * 0.015), (-2, lamp[1] + h * 0.11)], beam)
    sheet.polygon([lamp, (w + 2, lamp[1] - h * 0.010), (w + 2, lamp[1] + h * 0.028)], beam)
    sheet.disc(lamp, tower * 0.115, palette.glow)
    scenery.waves(sheet, horizon, h, [palette.shade(s) for s in (0.55, 0.4, 0.27, 0.14)], length=24, rise=0.8)
    boat = (w * 0.24, horizon + h * 0.045)
    scenery.sailboat(sheet, boat, h * 0.125, hull=palette.ink, sail=palette.paper, jib=palette.accent)
    scenery.cliff(sheet, w * (0.47 if sheet.tall else 0.60), foot[1] - 0.4, palette.ink)
    ground = (foot[0], foot[1] + 0.5)
    scenery.lighthouse(sheet, ground, tower, wall=palette.paper, stripe=palette.ink, lamp=palette.glow)
    for x, y, span in ((0.20, 0.53, 8.5), (0.33, 0.495, 6.0), (0.43, 0.585, 5.0)):
        bank = random.uniform(-0.2, 0.2)
        scenery.gull(sheet, (w * x, h * y + 3), span, bank, body=palette.ink, tips=palette.ink)
    sheet.below(sheet.crest(h * 0.955, 0.9, 22, random.random()), h, palette.shade(0.08))
    sheet.frame(2.6, 0.5, palette.ink)
    right, bottom = (w - 8, h * 0.262) if sheet.tall else (w * 0.64, h * 0.42)
    place = TitlePlace(Box(8, 8, right, bottom), palette.ink, bottom + 5, align="left")
    return sheet, place
