"""Mask secrets in what a skill, a recording or a log would see."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from skills.secrets import SHORTEST

_LONGEST_RUN = 64
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}


class SecretMasks:
    """Replaces each secret by its name, `{{secret:NAME}}`: in letters of any size, as it looks in URLs, JSON, HTML, hex
    and base64, and in wide letters."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        # The longest first: one secret may be the beginning of another.
        known = sorted(secrets.items(), key=lambda one: -len(one[1]))
        self._known = [(value, f"{{{{secret:{name}}}}}".encode()) for name, value in known if len(value) >= SHORTEST]

    def text(self, text: str) -> str:
        return self.content(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def content(self, content: bytes) -> bytes:
        for value, name in self._known:
            for look in _base64_forms(value):
                content = content.replace(look, name)
            small = content.lower()
            for sure, pattern in _written_forms(value):
                # Going through all of it letter by letter takes long, and is seldom worth it.
                if sure in small:
                    content = pattern.sub(name, content)
        return content


@lru_cache(maxsize=256)
def _written_forms(value: str) -> tuple[tuple[bytes, re.Pattern[bytes]], ...]:
    """How it may be written out, and what is in there in any case, in small letters."""
    runs = re.findall("[a-z0-9]+", value.lower())
    sure = max(runs, key=len, default="")[:_LONGEST_RUN].encode()
    found = [(sure, re.compile("".join(map(_escaped_pattern, value)).encode(), re.IGNORECASE))]
    for plain in (value.encode().hex(), *(value.encode(f"utf-16-{order}").decode("latin-1") for order in ("le", "be"))):
        look = plain.encode("latin-1")
        found.append((look.lower(), re.compile(re.escape(look), re.IGNORECASE)))
    return tuple(found)


def _escaped_pattern(sign: str) -> str:
    """A pattern for one character, of which those are escaped that mean something somewhere."""
    if sign.isalnum():
        return sign
    code = ord(sign)
    looks = [rf"\{sign}", f"%{code:02x}", rf"\u{code:04x}", rf"\x{code:02x}", f"&#{code};", f"&#x{code:x};"]
    looks += [f"&{_ENTITIES[sign]};"] if sign in _ENTITIES else []
    looks += ["+"] if sign == " " else []
    return f"(?:{'|'.join(re.escape(look) for look in [*looks, sign])})"


@lru_cache(maxsize=256)
def _base64_forms(value: str) -> tuple[bytes, ...]:
    """In base64, of both alphabets."""
    found = set(_base64_pieces(value))
    return tuple(sorted(found | {look.translate(_FOR_ADDRESSES) for look in found}, key=lambda one: -len(one)))


_FOR_ADDRESSES = bytes.maketrans(b"+/", b"-_")


def _base64_pieces(value: str) -> Iterator[bytes]:
    encoded = base64.b64encode(value.encode()).rstrip(b"=")
    yield encoded
    # Inside a longer text base64 looks otherwise at each of three offsets; what is common to all that hold it is kept.
    for before in (1, 2):
        shifted = base64.b64encode(b"\0" * before + value.encode())[before + 1 :].rstrip(b"=")
        if len(shifted) - 1 >= 8:
            yield shifted[:-1]
    if len(encoded) > 8:
        yield encoded[:-1]
