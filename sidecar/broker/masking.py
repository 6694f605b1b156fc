"""Takes secrets out of what a skill, a recording or a log would see."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from skills.secrets import SHORTEST


class Masks:
    """Replaces each secret, also as it looks in URLs, JSON, HTML and base64, by its name: `{{secret:NAME}}`."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found = {
            looks: f"{{{{secret:{name}}}}}"
            for name, value in secrets.items()
            if len(value) >= SHORTEST
            for looks in _looks(value)
        }
        # The longest first: one secret may be the beginning of another.
        self._texts = sorted(found.items(), key=lambda one: -len(one[0]))
        self._bytes = [(looks.encode(), name.encode()) for looks, name in self._texts]

    def text(self, text: str) -> str:
        for looks, name in self._texts:
            text = text.replace(looks, name)
        return text

    def content(self, content: bytes) -> bytes:
        for looks, name in self._bytes:
            content = content.replace(looks, name)
        return content


def _looks(value: str) -> Iterable[str]:
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    in_json = json.dumps(value)[1:-1]
    yield from {value, quote(value), quote(value, safe=""), quote_plus(value), encoded}
    yield from {in_json, in_json.replace("/", "\\/"), html.escape(value)}
    # Inside a longer text base64 looks otherwise at each of three offsets; what is common to all that hold it is kept.
    for before in (1, 2):
        shifted = base64.b64encode(b"\0" * before + value.encode()).decode()[before + 1 :].rstrip("=")
        if len(shifted) - 1 >= 8:
            yield shifted[:-1]
    if len(encoded) > 8:
        yield encoded[:-1]
