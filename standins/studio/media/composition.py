"""Choose the composition of a poster."""

import re
from collections.abc import Callable
from random import Random

from standins.studio.media.compositions.beacon import beacon
from standins.studio.media.compositions.gulls import gulls
from standins.studio.media.compositions.mosaic import mosaic
from standins.studio.media.compositions.orbit import orbit
from standins.studio.media.compositions.regatta import regatta
from standins.studio.media.compositions.summits import summits
from standins.studio.media.palette import Palette
from standins.studio.media.sheet import Sheet
from standins.studio.media.title_place import TitlePlace

Composition = Callable[[tuple[int, int], Palette, Random], tuple[Sheet, TitlePlace]]

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
NUMBERED = (
    r"\b(?:no\.?|number|variation|version|composition|poster)\s*#?(\d{1,3})\b"
    r"|#(\d{1,3})\b|\b(\d{1,2}) ?(?:of|/) ?\d{1,2}\b"
)


def composition_for(prompt: str, variation: int | None, random: Random) -> Composition:
    """Return the composition for a prompt.

    With a variation, or a number in the prompt, the compositions of its theme take turns. Without one, a composition
    that the prompt names is used, else one of its theme is drawn by lot.
    """
    if variation is None:
        variation = _number_in(prompt)
    if variation is not None:
        family = _family(prompt)
        return family[variation % len(family)]
    wished = [composition for pattern, composition in WISHED if _speaks_of(pattern, prompt)]
    return random.choice(wished or _family(prompt))


def _family(prompt: str) -> list[Composition]:
    """Return the compositions of a prompt's theme, in the order of variations."""
    if _speaks_of(SEA, prompt):
        return [regatta, beacon, gulls, mosaic]
    if _speaks_of(HILLS, prompt):
        return [summits, orbit, mosaic]
    return [orbit, regatta, mosaic, gulls, summits, beacon]


def _speaks_of(pattern: str, prompt: str) -> bool:
    return re.search(rf"\b({pattern})", prompt, re.IGNORECASE) is not None


def _number_in(prompt: str) -> int | None:
    match = re.search(NUMBERED, prompt, re.IGNORECASE)
    return None if match is None else int(match[match.lastindex or 0])
