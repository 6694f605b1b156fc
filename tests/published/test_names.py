"""No published name or shape changes unseen."""

from __future__ import annotations

import json

from tests.published.names import STORED, as_text, published_names

HOW = "what is published changed; if that is meant: `python -m tests.published.names`, and say so in CHANGELOG.md"


def test_every_published_name_is_as_it_was() -> None:
    now, stored = json.loads(as_text(published_names())), json.loads(STORED.read_text())

    for kind in sorted({*now, *stored}):
        assert now.get(kind) == stored.get(kind), f"{kind}: {HOW}"
