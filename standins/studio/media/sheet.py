"""A sheet to draw on: a large picture, addressed in hundredths of its shorter side."""

import math
from random import Random

from PIL import Image, ImageDraw

from standins.studio.media.colour import Rgb
from standins.studio.media.palette import Palette

Point = tuple[float, float]
OVERSAMPLE = 2


class Sheet:
    """`width` and `height` are in units; the shorter of them is 100. Drawing is done
    `oversample` times the size of the result, so that its edges come out smooth."""

    def __init__(
        self, size: tuple[int, int], palette: Palette, random: Random, ground: Rgb, oversample: float = OVERSAMPLE
    ) -> None:
        drawn = (round(size[0] * oversample), round(size[1] * oversample))
        self.size = size
        self.palette = palette
        self.random = random
        self.unit = min(drawn) / 100
        self.width = drawn[0] / self.unit
        self.height = drawn[1] / self.unit
        self.image = Image.new("RGB", drawn, ground)
        self.draw = ImageDraw.Draw(self.image)

    @property
    def tall(self) -> bool:
        """Whether it is a good deal higher than wide."""
        return self.height >= 1.2 * self.width

    def polygon(self, points: list[Point], colour: Rgb) -> None:
        self.draw.polygon([self._px(point) for point in points], fill=colour)

    def box(self, left: float, top: float, right: float, bottom: float, colour: Rgb) -> None:
        self.draw.rectangle((*self._px((left, top)), *self._px((right, bottom))), fill=colour)

    def disc(self, centre: Point, radius: float, colour: Rgb) -> None:
        self.draw.ellipse(self._around(centre, radius), fill=colour)

    def ring(self, centre: Point, radius: float, thick: float, colour: Rgb) -> None:
        self.draw.ellipse(self._around(centre, radius), outline=colour, width=max(1, round(thick * self.unit)))

    def slice(self, centre: Point, radius: float, start: float, end: float, colour: Rgb) -> None:
        """A piece of a disc between two angles in degrees, clockwise from three o'clock."""
        self.draw.pieslice(self._around(centre, radius), start, end, fill=colour)

    def line(self, points: list[Point], thick: float, colour: Rgb) -> None:
        width = max(1, round(thick * self.unit))
        self.draw.line([self._px(point) for point in points], fill=colour, width=width, joint="curve")

    def frame(self, inset: float, thick: float, colour: Rgb) -> None:
        """A line around the sheet at this distance from its edge."""
        corners = (*self._px((inset, inset)), *self._px((self.width - inset, self.height - inset)))
        self.draw.rectangle(corners, outline=colour, width=max(1, round(thick * self.unit)))

    def crest(self, base: float, rise: float, length: float, shift: float) -> list[Point]:
        """A wavy line from edge to edge at height `base`; `rise` is half its swing, `length` one wave."""
        steps = 120
        points = []
        for step in range(steps + 1):
            x = self.width * step / steps
            points.append((x, base + rise * math.sin(2 * math.pi * (x / length + shift))))
        return points

    def below(self, line: list[Point], bottom: float, colour: Rgb) -> None:
        """Fill everything under a line down to `bottom`."""
        self.polygon([*line, (self.width, bottom), (0, bottom)], colour)

    def finished(self) -> Image.Image:
        """The sheet at its real size."""
        if self.image.size == (2 * self.size[0], 2 * self.size[1]):
            # The mean of each four: as smooth as any filter here, at a tenth of its work.
            return self.image.reduce(2)
        return self.image.resize(self.size, Image.Resampling.BILINEAR)

    def _px(self, point: Point) -> Point:
        return point[0] * self.unit, point[1] * self.unit

    def _around(self, centre: Point, radius: float) -> tuple[float, float, float, float]:
        return (
            *self._px((centre[0] - radius, centre[1] - radius)),
            *self._px((centre[0] + radius, centre[1] + radius)),
        )
