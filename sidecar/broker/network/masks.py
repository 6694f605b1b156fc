"""Mask secrets in what a skill, a recording or the log would see."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from skills.secrets import SHORTEST

_LONGEST_CERTAIN = 64
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class SecretMasks:
    """Replaces each secret by its name, `{{secret:NAME}}`.

    Finds secrets in upper and lower case, as they look in URLs, JSON, HTML, hex and base64, and in UTF-16.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        # The longest first, since one secret may be the beginning of another.
        known = sorted(secrets.items(), key=lambda one: -len(one[1]))
        self._known = [(value, f"{{{{secret:{name}}}}}".encode()) for name, value in known if len(value) >= SHORTEST]

    def text(self, text: str) -> str:
        """Mask secrets in a text."""
        return self.content(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def content(self, content: bytes) -> bytes:
        """Mask secrets in bytes."""
        for value, name in self._known:
            for form in _base64_forms(value):
                content = content.replace(form, name)
            lowered = content.lower()
            for certain, pattern in _written_forms(value):
                # A pattern search takes long, so a fixed part of the secret is looked for first.
                if certain in lowered:
                    content = pattern.sub(name, content)
        return content


@lru_cache(maxsize=256)
def _written_forms(value: str) -> tuple[tuple[bytes, re.Pattern[bytes]], ...]:
    """Return patterns of how a secret may be written, each with lower-case bytes that every match contains."""
    plain_parts = re.findall("[a-z0-9]+", value.lower())
    certain = max(plain_parts, key=len, default="")[:_LONGEST_CERTAIN].encode()
    found = [(certain, re.compile("".join(map(_escaped_pattern, value)).encode(), re.IGNORECASE))]
    for plain in (value.encode().hex(), *(value.encode(f"utf-16-{order}").decode("latin-1") for order in ("le", "be"))):
        form = plain.encode("latin-1")
        found.append((form.lower(), re.compile(re.escape(form), re.IGNORECASE)))
    return tuple(found)


def _escaped_pattern(sign: str) -> str:
    """Return a pattern for one character, plain or escaped in any usual way."""
    if sign.isalnum():
        return sign
    code = ord(sign)
    forms = [rf"\{sign}", f"%{code:02x}", rf"\u{code:04x}", rf"\x{code:02x}", f"&#{code};", f"&#x{code:x};"]
    forms += [f"&{_ENTITIES[sign]};"] if sign in _ENTITIES else []
    forms += ["+"] if sign == " " else []
    return f"(?:{'|'.join(re.escape(form) for form in [*forms, sign])})"


@lru_cache(maxsize=256)
def _base64_forms(value: str) -> tuple[bytes, ...]:
    """Return what a secret looks like in base64, in both alphabets, the longest first."""
    found = set(_base64_pieces(value))
    return tuple(sorted(found | {form.translate(_URL_SAFE) for form in found}, key=lambda one: -len(one)))


def _base64_pieces(value: str) -> Iterator[bytes]:
    """Yield base64 of a secret, alone and inside longer texts."""
    encoded = base64.b64encode(value.encode()).rstrip(b"=")
    yield encoded
    # Inside a longer text, base64 differs at each of three offsets. The part that all texts share is used.
    for before in (1, 2):
        shifted = base64.b64encode(b"\0" * before + value.encode())[before + 1 :].rstrip(b"=")
        if len(shifted) - 1 >= 8:
            yield shifted[:-1]
    if len(encoded) > 8:
        yield encoded[:-1]
