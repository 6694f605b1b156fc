"""Outlines of turned bodies: each a column of rings from the foot upwards, one unit high."""

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from standins.studio.media.colour import Rgb, mix
from standins.studio.media.palette import Palette


@dataclass(frozen=True)
class Ring:
    """A horizontal cut through a body: its height, width and colour."""

    radius: float
    height: float
    colour: Rgb


def lighthouse_body(palette: Palette) -> list[Ring]:
    """A striped tower with gallery, lamp and roof."""
    rings = [Ring(0.0, 0.0, palette.mid), Ring(0.24, 0.0, palette.mid), Ring(0.22, 0.06, palette.mid)]
    for band in range(6):
        colour = palette.paper if band % 2 else palette.ink
        for share in (band / 6, (band + 1) / 6):
            rings.append(Ring(0.155 - 0.065 * share, 0.06 + 0.66 * share, colour))
    for radius, height, colour in (
        (0.13, 0.72, palette.ink), (0.13, 0.745, palette.ink), (0.075, 0.745, palette.ink),
        (0.075, 0.76, palette.glow), (0.075, 0.86, palette.glow), (0.10, 0.865, palette.ink),
        (0.02, 0.955, palette.ink), (0.02, 0.985, palette.accent), (0.0, 1.0, palette.accent),
    ):  # fmt: skip
        rings.append(Ring(radius, height, colour))
    return rings


def buoy_body(palette: Palette) -> list[Ring]:
    """A harbour buoy with its float, mast and lamp."""
    rows = (
        (0.0, 0.0, palette.ink), (0.22, 0.03, palette.ink), (0.36, 0.14, palette.ink), (0.38, 0.24, palette.ink),
        (0.38, 0.24, palette.paper), (0.36, 0.32, palette.paper), (0.24, 0.36, palette.glow),
        (0.12, 0.62, palette.glow), (0.12, 0.62, palette.paper), (0.09, 0.74, palette.paper),
        (0.09, 0.74, palette.accent),
        (0.10, 0.86, palette.accent), (0.06, 0.95, palette.accent), (0.0, 1.0, palette.accent),
    )  # fmt: skip
    return [Ring(*row) for row in rows]


def vase_body(palette: Palette, random: Random) -> list[Ring]:
    """A vase whose foot, belly, neck and lip are drawn by lot."""
    bounds = ((0.14, 0.22), (0.28, 0.42), (0.09, 0.16), (0.16, 0.24))
    foot, belly, neck, lip = (random.uniform(*bound) for bound in bounds)
    middle = random.uniform(0.34, 0.52)
    rings = [Ring(0.0, 0.0, palette.ink)]
    for step in range(49):
        share = step / 48
        radius = float(np.interp(_eased(share, middle), [0, 0.5, 0.85, 1], [foot, belly, neck, lip]))
        if share < 0.62:
            colour = mix(palette.ink, palette.glow, share / 0.62)
        else:
            colour = mix(palette.glow, palette.paper, (share - 0.62) / 0.38)
        rings.append(Ring(radius, share, colour))
    inside = (Ring(lip * 0.86, 0.985, palette.paper), Ring(neck * 0.8, 0.8, palette.mid), Ring(0.0, 0.55, palette.mid))
    return [*rings, *inside]


def _eased(share: float, middle: float) -> float:
    linear = 0.5 * share / middle if share < middle else 0.5 + 0.5 * (share - middle) / (1 - middle)
    return 0.5 - 0.5 * math.cos(math.pi * linear)
