"""How the pages say things, by table."""

from __future__ import annotations

import pytest

from engine.function import read_function
from engine.pages.site.text import Excerpt, format_duration, format_size, lay_out_error, lay_out_memo, make_excerpt
from engine.pages.views.functions import describe_options, list_upcoming_ticks

HOUR, DAY = 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (-5, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1234, "1.23 s"),
        (59_999, "1 min"),
        (60_000, "1 min"),
        (125_000, "2 min 5 s"),
        (3 * HOUR + 61_000, "3 h 1 min"),
        (2 * DAY + 3 * HOUR, "2 d 3 h"),
        (366 * DAY, "366 d"),
    ],
)
def test_durations(ms: int, said: str) -> None:
    assert format_duration(ms) == said


def test_sizes() -> None:
    assert [format_size(n) for n in (0, 1023, 1536, 4 * 1024 * 1024)] == ["0 B", "1023 B", "1.5 KiB", "4 MiB"]


def test_excerpts() -> None:
    assert make_excerpt('{"a":[1]}') == Excerpt('{\n  "a": [\n    1\n  ]\n}', 9, False)
    assert make_excerpt("abcdef", limit=4) == Excerpt("abcd", 6, True)
    assert make_excerpt("abc", whole=10, limit=4) == Excerpt("abc", 10, True)
    assert make_excerpt("not json").text == "not json"
    deep = "[" * 5000 + "]" * 5000
    assert make_excerpt(deep).text == deep
    assert make_excerpt('{"data":"x"}', layout=lay_out_memo).text == '"x"'
    assert make_excerpt("null", layout=lay_out_memo).text == "null"
    failed = '{"error":{"name":"E","message":"m","stack":"s\\n"}}'
    assert make_excerpt(failed, layout=lay_out_memo).text == "E: m\n\ns"
    for strange in ("1", '{"message":1}', "[]"):
        assert make_excerpt(strange, layout=lay_out_error).cut is False


def test_options_and_schedules() -> None:
    # Given a function with every option
    config = {
        "id": "app-fn",
        "triggers": [{"cron": "TZ=America/New_York 30 1 * * *"}, {"cron": "0 0 * * *", "jitter": "10m"}],
        "steps": {"step": {"runtime": {"url": "http://x"}, "retries": {"attempts": 0}}},
        "concurrency": [{"limit": 1, "scope": "env", "key": "event.data.k"}],
        "throttle": {"limit": 1, "period": "3s", "burst": 2, "key": "event.data.k"},
        "rateLimit": {"limit": 10, "period": "1m"},
        "debounce": {"period": "2s", "timeout": "5s"},
        "batchEvents": {"maxSize": 10, "timeout": "5s"},
        "singleton": {"mode": "skip", "key": "event.data.k"},
        "idempotency": "event.data.id",
        "priority": {"run": "event.data.p"},
        "cancel": [{"event": "a/stop", "timeout": "1h"}],
        "timeouts": {"start": "2s", "finish": "3s"},
    }
    function = read_function("app", config, id="id", version=1, archived=False)
    assert dict(describe_options(function)) == {
        "Retries": "0 (1 attempts in all)",
        "Concurrency": "1 at a time for each event.data.k in this engine",
        "Throttle": "1 per 3 s (and 2 at once) for each event.data.k; more wait",
        "Rate limit": "10 per 1 min (and 1 at once); more are dropped",
        "Debounce": "2 s after the last event, at most 5 s",
        "Batch": "up to 10 events or 5 s",
        "Singleton": "one run for each event.data.k; a new run is skipped",
        "Idempotency": "once for each event.data.id",
        "Priority": "event.data.p seconds ahead",
        "Cancelled by": "a/stop, within 1 h",
        "Must start within": "2 s",
        "Must finish within": "3 s",
    }
    # And schedules are told in their own zone, with the jitter that the run will have
    at_noon = 1_772_452_800_000  # 2026-03-02T12:00Z
    jittered, eastern = list_upcoming_ticks([function], at_noon)
    assert eastern.local == "Tue 03 Mar 2026, 01:30:00 America/New_York"
    assert eastern.at == at_noon + 18 * HOUR + 30 * 60_000
    assert at_noon + 12 * HOUR < jittered.at <= at_noon + 12 * HOUR + 600_000
    # Within the jitter after a tick, the run of that tick is still the next one
    (still, _) = list_upcoming_ticks([function], jittered.at - 1)
    assert still.at == jittered.at
    (following, *_) = [one for one in list_upcoming_ticks([function], jittered.at) if one.jitter_ms]
    assert following.at > jittered.at + 20 * HOUR
