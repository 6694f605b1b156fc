"""The form that is signed is RFC 8785's, by whichever way it is reached."""

from __future__ import annotations

import json

import jcs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.orchestrator.signature import canonical_body

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT
_JSON = st.recursive(_LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4))


@given(_JSON, st.booleans(), st.sampled_from([None, 2]))
def test_any_body_has_the_canonical_form(value: object, ascii_only: bool, indent: int | None) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    try:
        expected = jcs.canonicalize(json.loads(body))
    except ValueError:
        # An integer too large for a double has no such form.
        with pytest.raises(ValueError, match=r".*"):
            canonical_body(body)
        return
    assert canonical_body(body) == expected


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b"", b""),
        (b"0 ", b"0"),
        (b"-0", b"0"),
        (b"1e2", b"100"),
        (b"9007199254740993", b"9007199254740992"),
        ('{"\U0001f600": 1, "\ufb33": 2}'.encode(), '{"\U0001f600":1,"\ufb33":2}'.encode()),
        (b'{"b": [1, {"d": "\\u20ac", "c": "\\u000f"}], "a": 1}', '{"a":1,"b":[1,{"c":"\\u000f","d":"€"}]}'.encode()),
    ],
)
def test_what_is_written_in_several_ways(body: bytes, form: bytes) -> None:
    assert canonical_body(body) == form
