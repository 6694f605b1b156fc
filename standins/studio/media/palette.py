"""Palettes: the few colours a work is made of."""

import colorsys
import math
import re
from dataclasses import dataclass
from random import Random

from standins.studio.media.colour import Rgb, contrast, luminance, mix, named_in, parse, warmed

AMBER = parse("#e8953a")
CREAM = parse("#f5e8cd")
READABLE = 4.5


@dataclass(frozen=True)
class Palette:
    """`ink` is the dark ground and `paper` the light one, readable on each other; `glow` is the sun's colour and stands
    out from ink; `accent` is the one for small things; `mid` lies between ink and paper."""

    ink: Rgb
    paper: Rgb
    glow: Rgb
    accent: Rgb
    mid: Rgb

    def shade(self, share: float) -> Rgb:
        """Ink with a share of paper: 0 is ink, 1 is paper. What lies between keeps the ink's hue, where a mix
        turns grey."""
        plain = mix(self.ink, self.paper, share)
        hue, _, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in self.ink))
        _, lightness, _ = colorsys.rgb_to_hls(*(channel / 255 for channel in plain))
        red, green, blue = (round(channel * 255) for channel in colorsys.hls_to_rgb(hue, lightness, 0.55 * saturation))
        return mix(plain, (red, green, blue), 0.7 * math.sin(math.pi * share))


RETRO = (
    ("#14274a", "#f5e8cd", "#ee6f57", "#d7a033", "#3f7f8c"),
    ("#173d30", "#f3ead3", "#e69a35", "#c4592a", "#6f9a7a"),
    ("#4a2f22", "#f6e7c8", "#e67a34", "#1d7272", "#b98a55"),
    ("#2d2a4a", "#f7ead6", "#f0937c", "#eba42c", "#7b6a9c"),
    ("#12485a", "#f5ecd9", "#f0c63f", "#cf3428", "#4f9a9a"),
    ("#651f2f", "#f6e6d0", "#eba42c", "#1d7272", "#b4685c"),
)


def palette_of(words: str, random: Random, warmth: float) -> Palette:
    """The palette that `words` name; what they leave open is filled in to match, or, when they name nothing,
    drawn by lot."""
    return palette_from(named_in(words), random, warmth)


def palette_from(colours: list[Rgb], random: Random, warmth: float) -> Palette:
    """The palette made of these colours; what they leave open is filled in to match, or, when there are none,
    drawn by lot."""
    found = _from_colours(colours, random) if colours else _by_lot(random)
    return _warmer(found, warmth) if warmth else found


def warmth_in(prompt: str) -> float:
    """How much warmer (up to 1) or cooler (down to -1) a prompt asks for; 0 when it does not say."""
    if re.search(r"\b(less warm|cooler|colder|cool|bluer|plus froide?s?)\b", prompt, re.IGNORECASE):
        return -0.6
    if re.search(r"\b(much|far|lots?) warmer\b", prompt, re.IGNORECASE):
        return 1.0
    return 0.6 if re.search(r"\b(warm(er|th)?|redder|chaude?s?|chaleureu\w+)\b", prompt, re.IGNORECASE) else 0.0


def _by_lot(random: Random) -> Palette:
    ink, paper, glow, accent, mid = (parse(code) for code in random.choice(RETRO))
    return Palette(ink, paper, glow, accent, mid)


def _from_colours(named: list[Rgb], random: Random) -> Palette:
    ordered = sorted(named, key=luminance)
    ink = ordered[0] if luminance(ordered[0]) < 0.16 else mix(ordered[0], (16, 16, 22), 0.72)
    paper = ordered[-1] if luminance(ordered[-1]) > 0.55 else mix(CREAM, ordered[-1], 0.06)
    while contrast(ink, paper) < READABLE:
        ink, paper = mix(ink, (8, 8, 12), 0.25), mix(paper, (255, 252, 244), 0.25)
    rest = [colour for colour in named if colour not in (ink, paper)]
    tint = Palette(ink, paper, paper, paper, paper).shade(0.42)
    glow = next((colour for colour in rest if contrast(colour, ink) > 2), None)
    spare = [colour for colour in rest if colour != glow]
    accent = spare[0] if spare else mix(glow or mix(ink, paper, 0.6), paper, 0.5)
    mid = spare[1] if len(spare) > 1 else mix(tint, glow or tint, 0.12)
    return Palette(ink, paper, glow or mix(paper, AMBER, 0.12 + 0.08 * random.random()), accent, mid)


def _warmer(palette: Palette, warmth: float) -> Palette:
    toward = AMBER if warmth > 0 else parse("#8fb4cf")
    share = abs(warmth)
    return Palette(
        ink=warmed(palette.ink, 0.5 * warmth),
        paper=warmed(palette.paper, warmth),
        glow=mix(warmed(palette.glow, warmth), toward, 0.55 * share),
        accent=mix(warmed(palette.accent, warmth), toward, 0.35 * share),
        mid=mix(warmed(palette.mid, warmth), toward, 0.15 * share),
    )
