"""What settings say together and cannot mean."""

from __future__ import annotations

import pytest

from app.preflight import setting_problems
from core.settings import load_settings


def test_pictures_of_openai_need_its_key() -> None:
    assert setting_problems(load_settings(generators="openai")) == ["OPENAI_API_KEY: the generator `openai` needs it"]
    assert setting_problems(load_settings(generators="openai", openai_api_key="sk", model="m")) == []


@pytest.mark.parametrize("name", ["inngest_signing_key", "inngest_signing_key_fallback"])
def test_a_key_that_can_sign_nothing_is_named_and_not_shown(name: str) -> None:
    (line,) = setting_problems(load_settings(**{name: "signkey-prod-of-somebody"}))

    assert line.startswith(f"{name.upper()}: ")
    assert "somebody" not in line
    assert setting_problems(load_settings(**{name: "signkey-test-00ff"})) == []
