"""Choose the title of a poster, from the params or from the words of the prompt."""

import re

from standins.studio.media.colour import without_names

_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„]{2,60})[”\"»“]|(?<!\w)['‘]([^'’‘]{2,60})['’](?!\w)")
_CAPITALISED = re.compile(
    r"\b(?:(?:St|Mt|Dr|Mr|Mrs)\. )?[A-Z][\w’'-]*"
    r"(?:\s+(?:(?:of|the|and|&|de|la|le|du|on|at)\s+)*(?:[A-Z][\w’'-]*|\d{4}))*"
)
_PLAIN_WORDS = """
    a an the and or of for with in on at by to from as is are it its this that these those my our your me us one two
    three four five set series make made create draw design generate render give show please want need poster
    posters picture pictures image images illustration illustrations photo artwork art print video film clip style
    styled retro vintage modern classic minimal minimalist bold flat large small big wide tall square portrait
    landscape warmer cooler warm cool colour colours color colors palette background foreground title titled text
    legible lettering grain texture composition variation version different first second third number no size using
    use featuring feature showing some touch more less little very also turn into high quality beautiful simple only
"""
_OPENING_WORDS = """
    A An The Make Create Draw Design Generate Render Give Show Please I We Could Can Would Also Turn Three Two Retro
    Vintage Poster Posters Image Picture Variation Version Enhance Upscale Warm Warmer Set For With In On Style Use
    Title Subtitle Size Composition Background Bold Flat Minimal Illustration Portrait Landscape No Number Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September
    October November December
"""
_PLAIN = frozenset(_PLAIN_WORDS.split())
_OPENERS = frozenset(_OPENING_WORDS.split())


def title_of(title: str | None, prompt: str) -> str:
    """Return the title: the given one, else what the prompt quotes, else a proper name or its first uncommon words.

    It may be empty.
    """
    prompt = prompt[:4000]
    return (title or _quoted(prompt) or _proper_name(prompt) or _telling_words(prompt)).strip()


def _quoted(prompt: str) -> str:
    match = _QUOTED.search(prompt)
    return "" if match is None else match[1] or match[2]


def _proper_name(prompt: str) -> str:
    names = []
    for match in _CAPITALISED.finditer(without_names(prompt)):
        words = match[0].split()
        while words and words[0] in _OPENERS:
            words = words[1:]
        while words and words[-1] in _OPENERS:
            words = words[:-1]
        if words:
            names.append(" ".join(words))
    return max(names, key=lambda name: len(name.split()), default="")[:48]


def _telling_words(prompt: str) -> str:
    words = re.findall(r"[^\W\d_][\w’'-]+", without_names(prompt))
    return " ".join([word for word in words if word.lower() not in _PLAIN and word not in _OPENERS][:3])
