"""Things to draw on a poster. Each is drawn in the sheet's units and in the colours it is handed."""

import math

from standins.studio.media.colour import Rgb
from standins.studio.media.sheet import Point, Sheet


def rays(sheet: Sheet, centre: Point, count: int, turn: float, colour: Rgb) -> None:
    """Every second of `2 * count` wedges that fan out from `centre` over the whole sheet."""
    reach = sheet.width + sheet.height
    for number in range(count):
        start = turn + 2 * math.pi * number / count
        end = start + math.pi / count
        sheet.polygon([centre, _toward(centre, start, reach), _toward(centre, end, reach)], colour)


def slit_sun(sheet: Sheet, centre: Point, radius: float, colour: Rgb, *, ground: Rgb, slits: int) -> None:
    """A disc whose lower half is cut by slits that widen downwards."""
    sheet.disc(centre, radius, colour)
    for number in range(slits):
        share = (number + 0.6) / (slits + 0.2)
        thick = radius * (0.022 + 0.062 * share)
        top = centre[1] + radius * (0.12 + 0.84 * share)
        half = math.sqrt(max(0.0, radius**2 - (top - centre[1]) ** 2)) + 0.4
        sheet.box(centre[0] - half, top, centre[0] + half, top + thick, ground)


def waves(sheet: Sheet, top: float, bottom: float, colours: list[Rgb], *, length: float, rise: float) -> None:
    """Bands of water between `top` and `bottom`, one of each colour, the last one in front."""
    step = (bottom - top) / len(colours)
    for number, colour in enumerate(colours):
        shift = sheet.random.random()
        swell = rise * (0.7 + 0.5 * number / len(colours))
        crest = sheet.crest(top + number * step, swell, length * (1 + 0.22 * number), shift)
        sheet.below(crest, sheet.height, colour)


def scale_waves(sheet: Sheet, top: float, bottom: float, radius: float, *, outer: Rgb, rings: tuple[Rgb, ...]) -> None:
    """Overlapping fans, row over row, as on a printed cloth."""
    row = 0
    y = top
    while y < bottom + radius:
        x = -radius if row % 2 else 0.0
        while x < sheet.width + radius:
            sheet.disc((x, y), radius, outer)
            for number, colour in enumerate(rings):
                sheet.disc((x, y), radius * (0.86 - 0.23 * number), colour)
            x += 2 * radius
        y += radius * 0.5
        row += 1


def sailboat(sheet: Sheet, foot: Point, size: float, *, hull: Rgb, sail: Rgb, jib: Rgb) -> None:
    """A boat under sail; `foot` is the middle of its waterline, `size` its height."""
    x, y = foot
    s = size / 100
    sheet.box(x - 0.9 * s, y - 98 * s, x + 0.9 * s, y - 8 * s, hull)
    sheet.polygon(_sail((x + 3 * s, y - 95 * s), (x + 3 * s, y - 17 * s), (x + 42 * s, y - 17 * s), 0.16), sail)
    sheet.polygon(_sail((x - 3 * s, y - 88 * s), (x - 3 * s, y - 17 * s), (x - 33 * s, y - 17 * s), 0.10), jib)
    sheet.polygon(
        [(x - 40 * s, y - 12 * s), (x + 47 * s, y - 12 * s), (x + 34 * s, y + 5 * s), (x - 28 * s, y + 5 * s)], hull
    )
    sheet.polygon([(x, y - 98 * s), (x, y - 105 * s), (x + 13 * s, y - 101 * s)], jib)


def gull(sheet: Sheet, centre: Point, span: float, bank: float, *, body: Rgb, tips: Rgb) -> None:
    """A gull with wings spread `span` wide, banked by `bank` radians."""
    half = span / 2

    def at(x: float, y: float) -> Point:
        turned_x = x * math.cos(bank) - y * math.sin(bank)
        turned_y = x * math.sin(bank) + y * math.cos(bank)
        return centre[0] + half * turned_x, centre[1] + half * turned_y

    for side in (-1, 1):
        upper = _curve((0.0, -0.02), (side * 0.38, -0.46), (side * 1.0, -0.16))
        lower = _curve((side * 1.0, -0.16), (side * 0.42, -0.20), (side * 0.02, 0.15))
        sheet.polygon([at(*point) for point in upper + lower], body)
        tip = _curve((side * 0.74, -0.245), (side * 0.86, -0.24), (side * 1.0, -0.16))
        edge = _curve((side * 1.0, -0.16), (side * 0.86, -0.17), (side * 0.72, -0.165))
        sheet.polygon([at(*point) for point in tip + edge], tips)
    sheet.polygon(
        [at(x, y) for x, y in _curve((0, -0.1), (0.16, 0.05), (0, 0.34)) + _curve((0, 0.34), (-0.16, 0.05), (0, -0.1))],
        body,
    )


def lighthouse(sheet: Sheet, foot: Point, size: float, *, wall: Rgb, stripe: Rgb, lamp: Rgb) -> None:
    """A striped tower standing on `foot`, about `size` high."""
    x, y = foot
    s = size / 100
    low, high = 15.5 * s, 9.5 * s
    top = y - 76 * s

    def half_width(height: float) -> float:
        return low + (high - low) * (y - height) / (y - top)

    sheet.polygon([(x - low, y), (x - high, top), (x + high, top), (x + low, y)], wall)
    bands = 7
    for band in range(0, bands, 2):
        upper, lower = top + (y - top) * band / bands, top + (y - top) * (band + 1) / bands
        a, b = half_width(upper), half_width(lower)
        sheet.polygon([(x - a, upper), (x + a, upper), (x + b, lower), (x - b, lower)], stripe)
    sheet.box(x - 12.5 * s, top - 3.2 * s, x + 12.5 * s, top, stripe)
    sheet.box(x - 7 * s, top - 16 * s, x + 7 * s, top - 3.2 * s, lamp)
    for pane in (-7.0, -2.5, 2.5, 7.0):
        sheet.line([(x + pane * s, top - 16 * s), (x + pane * s, top - 3 * s)], 0.9 * s, stripe)
    sheet.polygon([(x - 9.5 * s, top - 16 * s), (x, top - 25 * s), (x + 9.5 * s, top - 16 * s)], stripe)
    sheet.disc((x, top - 25.5 * s), 1.6 * s, stripe)
    sheet.slice((x, y), 4.2 * s, 180, 360, stripe)


def cliff(sheet: Sheet, left: float, top: float, colour: Rgb) -> None:
    """Land that rises out of the sea from `left` to the right edge, its crown at height `top`."""
    points: list[Point] = [(left, sheet.height)]
    width = sheet.width - left
    for share, lift in ((0.06, 0.42), (0.14, 0.55), (0.2, 0.82), (0.3, 0.93), (0.42, 1.0), (0.8, 1.0), (1.02, 0.9)):
        points.append((left + width * share, sheet.height - (sheet.height - top) * lift))
    sheet.polygon([*points, (sheet.width + 1, sheet.height)], colour)


def ridge(sheet: Sheet, base: float, rise: float, peaks: int, colour: Rgb) -> None:
    """A range of mountains whose highest peaks reach `rise` above `base`."""
    skyline: list[Point] = [(-2.0, base)]
    step = (sheet.width + 4) / (2 * peaks)
    for number in range(2 * peaks + 1):
        lift = rise * (sheet.random.uniform(0.65, 1.0) if number % 2 else sheet.random.uniform(0.12, 0.4))
        skyline.append((-2 + number * step + sheet.random.uniform(-0.2, 0.2) * step, base - lift))
    skyline.append((sheet.width + 2, base))
    sheet.polygon([*skyline, (sheet.width + 2, sheet.height), (-2, sheet.height)], colour)


def fir(sheet: Sheet, foot: Point, size: float, colour: Rgb) -> None:
    """A fir tree standing on `foot`."""
    x, y = foot
    for tier in range(4):
        top, low = y - size * (1 - 0.2 * tier), y - size * (0.56 - 0.18 * tier)
        half = size * (0.11 + 0.055 * tier)
        sheet.polygon([(x, top), (x + half, low), (x - half, low)], colour)
    sheet.box(x - size * 0.03, y - size * 0.1, x + size * 0.03, y, colour)


def _toward(centre: Point, angle: float, distance: float) -> Point:
    return centre[0] + distance * math.cos(angle), centre[1] + distance * math.sin(angle)


def _curve(start: Point, control: Point, end: Point) -> list[Point]:
    points = []
    for step in range(17):
        t = step / 16
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        points.append((a * start[0] + b * control[0] + c * end[0], a * start[1] + b * control[1] + c * end[1]))
    return points


def _sail(peak: Point, tack: Point, clew: Point, belly: float) -> list[Point]:
    out = (clew[0] - tack[0]) * belly
    return [tack, *_curve(peak, ((peak[0] + clew[0]) / 2 + out, (peak[1] + clew[1]) / 2), clew)]
