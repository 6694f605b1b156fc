"""Which engine Inngest's own variables name, and whether it is keyed."""

from __future__ import annotations

import pytest

from core.orchestrator.engine import Engine
from core.settings import load_settings

KEY = "signkey-prod-abcdef"


@pytest.mark.parametrize(
    ("variables", "api_url", "keyed"),
    [
        ({}, "https://api.inngest.com", False),
        ({"INNGEST_SIGNING_KEY": KEY}, "https://api.inngest.com", True),
        ({"INNGEST_DEV": "1"}, "http://127.0.0.1:8288", False),
        ({"INNGEST_DEV": "1", "INNGEST_SIGNING_KEY": KEY}, "http://127.0.0.1:8288", False),
        ({"INNGEST_DEV": "http://10.0.0.1:9"}, "http://10.0.0.1:9", False),
        ({"INNGEST_DEV": "http://a:1", "INNGEST_BASE_URL": "http://b:2/"}, "http://b:2", False),
        ({"INNGEST_DEV": "0", "INNGEST_BASE_URL": "http://b:2", "INNGEST_SIGNING_KEY": KEY}, "http://b:2", True),
    ],
)
def test_the_engine_of_the_environment(
    variables: dict[str, str], api_url: str, keyed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    engine = Engine.of(load_settings())
    assert (engine.api_url, engine.keyed) == (api_url, keyed)
    assert KEY not in repr(engine)


def test_both_keys_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNGEST_SIGNING_KEY", "aa")
    monkeypatch.setenv("INNGEST_SIGNING_KEY_FALLBACK", "bb")
    assert Engine.of(load_settings()).signing_keys == ("aa", "bb")
