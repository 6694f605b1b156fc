"""Composition as a grid of simple shapes."""

import math
from random import Random

from standins.studio.media.lettering import Box
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace

KINDS = 6


def mosaic(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """A grid of quarter discs, sails and waves; the title on light ground above it or, on a wide sheet, beside it."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    margin = 7.0
    wide = w > 1.15 * h
    columns, rows = (4, 4) if wide else (4, max(2, int(h * 0.70 / ((w - 2 * margin) / 4))))
    tile = (h - 2 * margin) / 4 if wide else (w - 2 * margin) / 4
    if not wide and rows * tile > h * 0.68:
        columns, rows, tile = 6, 4, (w - 2 * margin) / 6
    left, top = w - margin - columns * tile, h - margin - rows * tile
    for row in range(rows):
        for column in range(columns):
            kind = (row * 3 + column * 2 + random.randrange(2)) % KINDS
            _tile(sheet, left + column * tile, top + row * tile, tile, kind)
    box = Box(margin, margin, left - 6, h - 16) if wide else Box(margin, margin, w - margin, top - 8.5)
    return sheet, TitlePlace(box, palette.ink, h - 10 if wide else top - 4.6, align="left")


def _tile(sheet: Sheet, x: float, y: float, side: float, kind: int) -> None:
    palette = sheet.palette
    ground = (palette.ink, palette.mid, palette.shade(0.82), palette.glow, palette.ink, palette.accent)[kind]
    sheet.box(x, y, x + side, y + side, ground)
    corner = sheet.random.randrange(4)
    at = (x + side * (corner % 2), y + side * (corner // 2))
    start = (0, 90, 270, 180)[corner]
    match kind:
        case 0:
            sheet.slice(at, side, start, start + 90, palette.paper)
            sheet.slice(at, side * 0.55, start, start + 90, palette.glow)
        case 1:
            _sails(sheet, x, y, side)
        case 2:
            sheet.slice((x + side / 2, y + side), side / 2, 180, 360, palette.ink)
            sheet.slice((x + side / 2, y + side / 2), side / 2, 180, 360, palette.accent)
        case 3:
            sheet.disc((x + side / 2, y + side / 2), side * 0.34, palette.ink)
            sheet.disc((x + side / 2, y + side / 2), side * 0.17, ground)
        case 4:
            _ripples(sheet, x, y, side)
        case _:
            sheet.slice(at, side, start, start + 90, palette.ink)


def _sails(sheet: Sheet, x: float, y: float, side: float) -> None:
    palette = sheet.palette
    main = ((0.54, 0.1), (0.54, 0.74), (0.92, 0.74))
    jib = ((0.47, 0.22), (0.47, 0.74), (0.14, 0.74))
    sheet.polygon([(x + side * a, y + side * b) for a, b in main], palette.paper)
    sheet.polygon([(x + side * a, y + side * b) for a, b in jib], palette.shade(0.82))
    hull = ((0.12, 0.79), (0.92, 0.79), (0.74, 0.94), (0.28, 0.94))
    sheet.polygon([(x + side * a, y + side * b) for a, b in hull], palette.ink)


def _ripples(sheet: Sheet, x: float, y: float, side: float) -> None:
    for number in range(4):
        top = y + side * (0.2 + 0.2 * number)
        points = [(x + side * step / 24, top + side * 0.045 * math.sin(step / 24 * 4 * math.pi)) for step in range(25)]
        sheet.line(points, side * 0.075, sheet.palette.paper)
