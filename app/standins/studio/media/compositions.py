"""The ways to compose a poster. Each draws a whole sheet, says where its title goes, and differs from the others at a glance."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from app.standins.studio.media import scenery
from app.standins.studio.media.colour import Rgb, mix
from app.standins.studio.media.lettering import Box
from app.standins.studio.media.palette import Palette
from app.standins.studio.media.sheet import Sheet


@dataclass(frozen=True)
class TitlePlace:
    """Where the title goes, in the sheet's units, and how it is set; `ground` is the colour behind it."""

    box: Box
    colour: Rgb
    ground: Rgb
    align: str = "center"
    subtitle: tuple[float, float, float] | None = None


Composition = Callable[[tuple[int, int], Palette, Random], tuple[Sheet, TitlePlace]]


def regatta(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """A boat before a rising sun with rays, on dark ground; the title below on the darkest water."""
    sheet = Sheet(size, palette, random, palette.ink)
    w, h = sheet.width, sheet.height
    horizon = h * 0.60
    centre = (w * random.uniform(0.46, 0.54), horizon - h * 0.06)
    scenery.rays(sheet, centre, 14, random.random(), palette.shade(0.13))
    radius = min(w * 0.33, h * 0.24)
    sheet.disc(centre, radius + 3.2, palette.shade(0.26))
    sheet.disc(centre, radius, palette.glow)
    for dx, dy, span in ((-0.30, -0.37, 11.0), (-0.17, -0.43, 7.5), (0.31, -0.30, 8.5)):
        scenery.gull(sheet, (centre[0] + dx * w, horizon + dy * h), span, dx * 0.6, palette.paper, palette.paper)
    bands = [palette.shade(0.62), mix(palette.mid, palette.paper, 0.2), palette.shade(0.34), palette.shade(0.2)]
    scenery.waves(sheet, horizon, h * 0.71, bands, 26, 0.9)
    boat = min(w * 0.62, h * 0.43)
    scenery.sailboat(sheet, (w * 0.5, horizon + h * 0.05), boat, palette.ink, palette.paper, palette.accent)
    sheet.below(sheet.crest(horizon + h * 0.062, 1.0, 21, random.random()), h, palette.shade(0.34))
    sheet.below(sheet.crest(horizon + h * 0.10, 1.3, 29, random.random()), h, palette.shade(0.17))
    sheet.below(sheet.crest(h * 0.745, 1.5, 36, random.random()), h, palette.ink)
    sheet.frame(2.6, 0.5, palette.paper)
    place = Box(9, h * 0.775, w - 9, h - 13)
    return sheet, TitlePlace(place, palette.paper, palette.ink, subtitle=(w / 2, h - 8.4, w - 24))


def beacon(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """A lighthouse on its cliff throws its beam over banded sky; the title stands in the light sky above."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    horizon = h * 0.74
    for number in range(5):
        sheet.box(0, h * (0.40 + 0.068 * number), w, h, mix(palette.paper, palette.mid, 0.13 + 0.15 * number))
    tower = h * 0.40
    foot = (w * 0.755, horizon - h * 0.055)
    lamp = (foot[0], foot[1] - tower * 0.855)
    beam = mix(palette.glow, palette.paper, 0.35)
    sheet.polygon([lamp, (-2, lamp[1] - h * 0.035), (-2, lamp[1] + h * 0.10)], beam)
    sheet.polygon([lamp, (w + 2, lamp[1] - h * 0.010), (w + 2, lamp[1] + h * 0.028)], beam)
    sheet.disc(lamp, tower * 0.115, palette.glow)
    scenery.waves(sheet, horizon, h, [palette.shade(s) for s in (0.55, 0.4, 0.27, 0.14)], 24, 0.8)
    scenery.sailboat(sheet, (w * 0.24, horizon + h * 0.045), h * 0.115, palette.ink, palette.paper, palette.accent)
    scenery.cliff(sheet, w * 0.47, foot[1] - 0.4, palette.ink)
    scenery.lighthouse(sheet, (foot[0], foot[1] + 0.5), tower, palette.paper, palette.ink, palette.glow)
    for x, y, span in ((0.20, 0.47, 8.5), (0.33, 0.435, 6.0), (0.43, 0.56, 5.0)):
        scenery.gull(sheet, (w * x, h * y), span, random.uniform(-0.2, 0.2), palette.ink, palette.ink)
    sheet.below(sheet.crest(h * 0.955, 0.9, 22, random.random()), h, palette.shade(0.08))
    sheet.frame(2.6, 0.5, palette.ink)
    place = Box(8, 8, w - 8, h * 0.315)
    return sheet, TitlePlace(place, palette.ink, palette.paper, "left", (w / 2, h * 0.352, w - 24))


def gulls(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Great gulls cross a slit sun over patterned water; the title on a light band at the foot."""
    sheet = Sheet(size, palette, random, palette.shade(0.1))
    w, h = sheet.width, sheet.height
    for number in range(6):
        sheet.box(0, 0, w, h * (0.50 - 0.08 * number), palette.shade(0.30 - 0.045 * number))
    radius = min(w * 0.36, h * 0.27)
    centre = (w * 0.5, h * 0.345)
    scenery.slit_sun(sheet, centre, radius, palette.glow, palette.shade(0.275), 6)
    rings = (palette.ink, palette.shade(0.55), palette.ink)
    sheet.box(0, h * 0.575, w, h, palette.ink)
    scenery.scale_waves(sheet, h * 0.60, h * 0.79, w / 12, palette.paper, rings)
    flock = ((0.40, 0.30, 0.52, -0.22), (0.70, 0.185, 0.27, 0.16), (0.745, 0.44, 0.34, 0.10))
    for x, y, span, bank in flock:
        tilt = bank + random.uniform(-0.05, 0.05)
        scenery.gull(sheet, (w * x, h * y + span * 4), span * min(w, h * 0.75), tilt, palette.paper, palette.ink)
    sheet.box(0, h * 0.765, w, h, palette.paper)
    sheet.box(0, h * 0.765, w, h * 0.765 + 1.1, palette.accent)
    sheet.frame(2.6, 0.5, palette.paper)
    sheet.box(0, h * 0.765 + 1.1, w, h, palette.paper)
    place = Box(8, h * 0.765 + 6, w - 8, h - 12)
    return sheet, TitlePlace(place, palette.ink, palette.paper, subtitle=(w / 2, h - 7.6, w - 24))


def mosaic(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """A grid of quarter discs, sails and waves; the title on light ground above."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    columns = 4 if w <= h else 6
    margin = 7.0
    tile = (w - 2 * margin) / columns
    rows = max(2, int((h * 0.70) / tile))
    top = h - margin - rows * tile
    for row in range(rows):
        for column in range(columns):
            _tile(
                sheet, margin + column * tile, top + row * tile, tile, (row * 3 + column * 2 + random.randrange(2)) % 6
            )
    place = Box(margin, margin, w - margin, top - 10)
    return sheet, TitlePlace(place, palette.ink, palette.paper, "left", (w / 2, top - 5, w - 24))


def summits(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Ridge behind ridge under a high sun, firs in front; the title in the dark foreground."""
    sheet = Sheet(size, palette, random, mix(palette.paper, palette.mid, 0.18))
    w, h = sheet.width, sheet.height
    sheet.box(0, 0, w, h * 0.16, mix(palette.paper, palette.mid, 0.08))
    centre = (w * random.uniform(0.36, 0.64), h * 0.25)
    radius = min(w, h) * 0.17
    for number in range(3):
        sheet.ring(centre, radius + 3 + 3.2 * number, 0.45, mix(palette.glow, palette.paper, 0.2 + 0.2 * number))
    sheet.disc(centre, radius, palette.glow)
    for number, share in enumerate((0.66, 0.48, 0.32, 0.18)):
        colour = mix(palette.shade(share), palette.mid, 0.25)
        scenery.ridge(sheet, h * (0.56 + 0.075 * number), h * (0.24 - 0.035 * number), 3 + number, colour)
    sheet.below(sheet.crest(h * 0.755, 1.2, w * 0.9, random.random()), h, palette.ink)
    x = -1.0
    while x < w + 2:
        scenery.fir(sheet, (x, h * 0.765), random.uniform(0.07, 0.15) * h, palette.ink)
        x += random.uniform(3.0, 6.5)
    sheet.frame(2.6, 0.5, palette.paper)
    place = Box(9, h * 0.79, w - 9, h - 13)
    return sheet, TitlePlace(place, palette.paper, palette.ink, subtitle=(w / 2, h - 8.4, w - 24))


def orbit(size: tuple[int, int], palette: Palette, random: Random) -> tuple[Sheet, TitlePlace]:
    """Rings, beams and discs in free balance on light ground; the title across the middle of a dark bar."""
    sheet = Sheet(size, palette, random, palette.paper)
    w, h = sheet.width, sheet.height
    centre = (w * 0.5, h * 0.36)
    radius = min(w * 0.40, h * 0.28)
    scenery.rays(sheet, centre, 20, random.random(), mix(palette.paper, palette.mid, 0.16))
    for number in range(4, 0, -1):
        colour = (palette.glow, palette.paper, palette.mid, palette.ink)[number - 1]
        sheet.disc(centre, radius * (0.28 + 0.18 * number), colour)
    sheet.slice(centre, radius, 180, 270, palette.accent)
    for number in range(3):
        angle = random.uniform(0, 2 * math.pi)
        at = (centre[0] + radius * 0.91 * math.cos(angle), centre[1] + radius * 0.91 * math.sin(angle))
        sheet.disc(at, 3.2 + number, palette.accent if number % 2 else palette.paper)
    sheet.box(0, h * 0.70, w, h, palette.ink)
    for number in range(3):
        sheet.box(
            0, h * 0.70 + 1.4 + 2.2 * number, w, h * 0.70 + 2.2 + 2.2 * number, palette.shade(0.8 - 0.25 * number)
        )
    place = Box(8, h * 0.70 + 11, w - 8, h - 13)
    return sheet, TitlePlace(place, palette.paper, palette.ink, subtitle=(w / 2, h - 8.4, w - 24))


SEA = r"harbou?r|sea|sail|boat|regatta|ship|port|coast|beach|ocean|lighthouse|gull|island|bay|marina|wave|fish|summer"
HILLS = r"mountain|alp|hill|forest|wood|hik|trail|summit|peak|valley|lake|ski|camp|winter|national park"
WISHED: tuple[tuple[str, Composition], ...] = (
    (r"lighthouse|beacon", beacon),
    (r"gull|seagull|bird", gulls),
    (r"sail|boat|regatta|sunburst|sun rays|sunrise|yacht", regatta),
    (r"geometric|bauhaus|abstract|mosaic|grid|tiles", mosaic),
    (r"mountain|summit|peak|forest|alp", summits),
    (r"orbit|rings|circles|space|planet|moon", orbit),
)


def composition_for(prompt: str, variation: int | None, random: Random) -> Composition:
    """The composition for a prompt. One that it wishes for by name comes first; else its theme's, in turn by variation."""
    if variation is None:
        wished = [composition for pattern, composition in WISHED if re.search(rf"\b({pattern})", prompt, re.IGNORECASE)]
        if wished:
            return random.choice(wished)
        variation = _numbered(prompt)
    if re.search(rf"\b({SEA})", prompt, re.IGNORECASE):
        family: tuple[Composition, ...] = (regatta, beacon, gulls, mosaic)
    elif re.search(rf"\b({HILLS})", prompt, re.IGNORECASE):
        family = (summits, orbit, mosaic)
    else:
        family = (orbit, regatta, mosaic, gulls, summits, beacon)
    return family[random.randrange(len(family)) if variation is None else variation % len(family)]


def _numbered(prompt: str) -> int | None:
    match = re.search(
        r"\b(?:no\.?|number|variation|version|composition|poster)\s*#?(\d{1,3})\b|#(\d{1,3})\b|\b(\d) of \d\b",
        prompt,
        re.I,
    )
    return None if match is None else int(next(group for group in match.groups() if group))


def _tile(sheet: Sheet, x: float, y: float, side: float, kind: int) -> None:
    palette = sheet.palette
    grounds = (palette.ink, palette.mid, palette.shade(0.82), palette.glow, palette.ink, palette.accent)
    ground = grounds[kind]
    figure = palette.paper if kind in (0, 1, 4, 5) else palette.ink
    sheet.box(x, y, x + side, y + side, ground)
    corner = sheet.random.randrange(4)
    cx, cy = x + side * (corner % 2), y + side * (corner // 2)
    start = {0: 0, 1: 90, 2: 270, 3: 180}[corner]
    match kind:
        case 0:
            sheet.slice((cx, cy), side, start, start + 90, figure)
            sheet.slice((cx, cy), side * 0.55, start, start + 90, palette.glow)
        case 1:
            sheet.polygon(
                [
                    (x + side * 0.54, y + side * 0.1),
                    (x + side * 0.54, y + side * 0.74),
                    (x + side * 0.92, y + side * 0.74),
                ],
                figure,
            )
            sheet.polygon(
                [
                    (x + side * 0.47, y + side * 0.22),
                    (x + side * 0.47, y + side * 0.74),
                    (x + side * 0.14, y + side * 0.74),
                ],
                palette.shade(0.7),
            )
            sheet.slice((x + side * 0.5, y + side * 0.78), side * 0.36, 0, 180, palette.ink)
        case 2:
            sheet.slice((x + side / 2, y + side), side / 2, 180, 360, figure)
            sheet.slice((x + side / 2, y + side / 2), side / 2, 180, 360, palette.accent)
        case 3:
            sheet.disc((x + side / 2, y + side / 2), side * 0.34, figure)
            sheet.disc((x + side / 2, y + side / 2), side * 0.17, ground)
        case 4:
            for number in range(4):
                top = y + side * (0.16 + 0.2 * number)
                points = [
                    (x + side * step / 24, top + side * 0.045 * math.sin(step / 24 * 4 * math.pi)) for step in range(25)
                ]
                sheet.line(points, side * 0.075, figure)
        case _:
            sheet.slice((cx, cy), side * 0.98, start, start + 90, figure)
