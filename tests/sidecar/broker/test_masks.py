"""A secret is not to be found in what was masked, wherever it stood and however it was written."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus, unquote_plus

from hypothesis import given
from hypothesis import strategies as st

from sidecar.broker.network.masks import SecretMasks

PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)
SECRET = st.text(PRINTABLE, min_size=8, max_size=40)


@given(SECRET, st.binary(max_size=20), st.binary(max_size=20))
def test_in_bytes_and_in_base64(secret: str, before: bytes, after: bytes) -> None:
    masks, text = SecretMasks({"T": secret}), before + secret.encode() + after
    packed = base64.b64encode(text)

    assert secret.encode() not in masks.content(text)
    assert b"secret:T" in masks.content(packed)
    assert masks.text(packed.decode()).encode() == masks.content(packed)


@given(SECRET)
def test_in_json_and_in_addresses(secret: str) -> None:
    masks = SecretMasks({"T": secret})

    assert json.loads(masks.text(json.dumps({"a": f"x{secret}y"}))) == {"a": "x{{secret:T}}y"}
    for packed in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        assert secret not in unquote_plus(masks.text(packed))


def test_the_longer_of_two_that_begin_alike_is_named() -> None:
    masks = SecretMasks({"SHORT": "abcdefgh", "LONG": "abcdefgh-ijkl"})

    assert masks.text("abcdefgh-ijkl abcdefgh") == "{{secret:LONG}} {{secret:SHORT}}"
