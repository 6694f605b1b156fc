"""Settings: what is read, and what is refused before anything starts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from core.settings import SettingsError, load_settings


def test_a_channel_has_its_own_webhook_or_the_common_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_NOTIFY_WEBHOOK", "http://hooks.example/all")
    monkeypatch.setenv("LOOPWRIGHT_NOTIFY_OPS", "https://hooks.example/ops")
    monkeypatch.setenv("LOOPWRIGHT_NOTIFY_ON_CALL", "https://hooks.example/token")
    monkeypatch.setenv("LOOPWRIGHT_NOTIFY_EMPTY", "")

    settings = load_settings()

    assert settings.webhook_of("ops") == "https://hooks.example/ops"
    assert settings.webhook_of("on-call") == "https://hooks.example/token"
    assert settings.webhook_of("empty") == settings.webhook_of("person") == "http://hooks.example/all"
    assert "token" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("LOOPWRIGHT_NOTIFY_OPS", "ops@example.org", "LOOPWRIGHT_NOTIFY_OPS: ops needs an address"),
        ("LOOPWRIGHT_NOTIFY_", "http://x", "LOOPWRIGHT_NOTIFY_ is not a setting"),
        ("LOOPWRIGHT_NOTIFIES", "1", "LOOPWRIGHT_NOTIFIES is not a setting"),
        ("LOOPWRIGHT_JOBS_URL", "http://jobs.example:port", "LOOPWRIGHT_JOBS_URL: .*http://"),
        ("LOOPWRIGHT_WEB_URL", "ftp://web.example", "LOOPWRIGHT_WEB_URL: .*http://"),
        ("LOOPWRIGHT_NOTIFY_WEBHOOK", "hooks.example/secret", "LOOPWRIGHT_NOTIFY_WEBHOOK: .*http://"),
        ("LOOPWRIGHT_FREE_PER_DAY", "0.0000001", "LOOPWRIGHT_FREE_PER_DAY"),
        ("LOOPWRIGHT_OPENING_BALANCE", "NaN", "LOOPWRIGHT_OPENING_BALANCE"),
        ("LOOPWRIGHT_WATCH_SECONDS", "inf", "LOOPWRIGHT_WATCH_SECONDS"),
        ("LOOPWRIGHT_MODEL_PRICE_OUTPUT", "1e99", "LOOPWRIGHT_MODEL_PRICE_OUTPUT"),
        ("LOOPWRIGHT_MODEL_PRICE_INPUT", "-1", "LOOPWRIGHT_MODEL_PRICE_INPUT"),
        ("LOOPWRIGHT_OVERRUN_FACTOR", "0.99", "LOOPWRIGHT_OVERRUN_FACTOR: .*greater than or equal to 1"),
        ("LOOPWRIGHT_OVERRUN_FACTOR", "NaN", "LOOPWRIGHT_OVERRUN_FACTOR"),
        ("LOOPWRIGHT_OVERRUN_FACTOR", "Infinity", "LOOPWRIGHT_OVERRUN_FACTOR"),
    ],
)
def test_a_wrong_one_is_refused_by_its_name(name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=said):
        load_settings()


def test_prices_are_exact() -> None:
    assert load_settings().model_price_input == Decimal("2.50")
    assert load_settings().overrun_factor == Decimal(2)
