"""Colours: their English names, and arithmetic with them."""

import re

Rgb = tuple[int, int, int]

NAMES: dict[str, str] = {
    "navy": "#14274a", "navy blue": "#14274a", "midnight": "#10182f", "indigo": "#2d3575", "royal blue": "#2c4fa3",
    "cobalt": "#1f4e9c", "blue": "#2b62a8", "sky blue": "#8fc1dc", "light blue": "#a9cfe2", "pale blue": "#bcd8e4",
    "powder blue": "#b7d2de", "steel blue": "#4f7797", "azure": "#4f9bd1", "cyan": "#37b0c4",
    "turquoise": "#37a7a0", "aqua": "#69c3bd", "petrol": "#12485a", "teal": "#1d7272", "sea green": "#3c8f7c",
    "seafoam": "#a4d3bf", "mint": "#b4dcc2", "emerald": "#1f7f5b", "forest green": "#22492f",
    "dark green": "#1e4230", "bottle green": "#173d30", "olive": "#6d6d35", "sage": "#9bab8a", "lime": "#a9c24a",
    "green": "#3d8153", "moss": "#5c6f3b", "cream": "#f5e8cd", "ivory": "#f7f0df", "beige": "#e5d5b5",
    "sand": "#dfc799", "off-white": "#f5f0e4", "white": "#faf7f0", "eggshell": "#f1e9d6", "tan": "#c9a577",
    "khaki": "#b3a06c", "champagne": "#efdcb8", "yellow": "#f0c63f", "lemon": "#f3dc62", "mustard": "#d7a033",
    "gold": "#cf9d3b", "golden": "#d5a443", "ochre": "#c4832e", "amber": "#e69a35", "saffron": "#eba42c",
    "apricot": "#f2b183", "peach": "#f5bd9a", "orange": "#e67a34", "burnt orange": "#c4592a", "rust": "#a8482a",
    "terracotta": "#c4623f", "copper": "#b06a3f", "coral": "#ee6f57", "salmon": "#f0937c", "red": "#c5382f",
    "crimson": "#a4202f", "scarlet": "#cf3428", "brick": "#9e4534", "burgundy": "#651f2f", "maroon": "#5f2029",
    "wine": "#5d2034", "pink": "#ec9aa6", "rose": "#d9788a", "blush": "#f1c7bd", "magenta": "#b8327a",
    "fuchsia": "#c43a85", "plum": "#5d3158", "purple": "#5f3d80", "violet": "#6b4c98", "lavender": "#b9a8d6",
    "lilac": "#c6b1d8", "mauve": "#a98aa6", "brown": "#6b4630", "chocolate": "#4a2f22", "coffee": "#54392a",
    "black": "#191817", "charcoal": "#2f3236", "marine": "#14274a", "bleu marine": "#14274a",
    "bleu ciel": "#8fc1dc", "crème": "#f5e8cd", "rouge": "#c5382f", "bleue": "#2b62a8", "bleu": "#2b62a8",
    "verte": "#3d8153", "vert": "#3d8153", "noire": "#191817", "noir": "#191817", "blanche": "#faf7f0",
    "blanc": "#faf7f0", "jaune": "#f0c63f", "doré": "#cf9d3b", "corail": "#ee6f57", "gris": "#8d9091",
    "slate": "#4b5964", "grey": "#8d9091", "gray": "#8d9091", "silver": "#c3c7c8", "stone": "#b8b0a0",
}  # fmt: skip

_NAMED = re.compile(r"#[0-9a-fA-F]{6}\b|\b(?:" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")\b", re.IGNORECASE)


def named_in(text: str) -> list[Rgb]:
    """The colours a text names, by word or as #rrggbb, each once, in its order."""
    found = [parse(NAMES.get(word.lower(), word)) for word in _NAMED.findall(text)]
    return list(dict.fromkeys(found))


def without_names(text: str) -> str:
    """The text without the colours it names."""
    return _NAMED.sub(" ", text)


def parse(code: str) -> Rgb:
    """The colour of #rrggbb."""
    return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)


def mix(one: Rgb, other: Rgb, share: float) -> Rgb:
    """`one` with a share (0 to 1) of `other`."""
    return _clip(*(a + (b - a) * share for a, b in zip(one, other, strict=True)))


def luminance(colour: Rgb) -> float:
    """Relative luminance after WCAG, 0 (black) to 1 (white)."""
    red, green, blue = (
        value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Contrast ratio after WCAG, 1 (none) to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def warmed(colour: Rgb, warmth: float) -> Rgb:
    """The colour in a warmer light (up to 1) or a cooler one (down to -1)."""
    red, green, blue = colour
    return _clip(red * (1 + 0.10 * warmth) + 6 * warmth, green * (1 + 0.015 * warmth), blue * (1 - 0.17 * warmth))


def _clip(red: float, green: float, blue: float) -> Rgb:
    return (max(0, min(255, round(red))), max(0, min(255, round(green))), max(0, min(255, round(blue))))
