"""The place of the title on a sheet."""

from dataclasses import dataclass

from standins.studio.media.colour import Rgb
from standins.studio.media.lettering import Box


@dataclass(frozen=True)
class TitlePlace:
    """`box` is the title's room and `subtitle_at` the height of the subtitle's middle, in the sheet's units.

    The title gives way where the subtitle needs the room. `align` is left or center.
    """

    box: Box
    colour: Rgb
    subtitle_at: float
    align: str = "center"


def at_foot(left: float, top: float, right: float, bottom: float, colour: Rgb) -> TitlePlace:
    """A title in the middle of a band, its subtitle at the band's lower edge."""
    return TitlePlace(Box(left, top, right, bottom), colour, subtitle_at=bottom - 2.4)
