"""The rules that need no engine: retry schedule, durations, ids, expressions."""

import hashlib
from typing import Any

import pytest

from engine.calls.retry import backoff_ms, retry_after_ms
from engine.expressions import ExpressionError, compile_expression, match_key, match_of
from engine.formats.clock import parse_duration
from engine.formats.ids import Ulids, is_ulid, seeded_ulid, ulid, ulid_ms

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("attempt", "seconds"), list(enumerate([15, 30, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 7200]))
)
def test_the_back_off_is_the_schedule_and_up_to_half_a_minute(attempt: int, seconds: int) -> None:
    waits = [backoff_ms(attempt, None) for _ in range(200)]
    assert all(seconds * 1000 <= wait <= (seconds + 30) * 1000 for wait in waits)
    assert len(set(waits)) > 1
    assert backoff_ms(attempt, 0.5) == 500


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("5", 5_000),
        ("0", 1_000),
        ("-3", 1_000),
        ("999999", 86_400_000),
        ("2023-11-14T22:13:30.500Z", 10_500),
        ("2023-11-14T22:13:30+00:00", 10_000),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30_000),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e308", None),
        ("1 Jan 99999999999999 00:00:00", None),
        ("1 Jan 2000 00:00:00 +99999999999999", None),
    ],
)
def test_retry_after_in_all_its_forms(header: str, wait: int | None) -> None:
    assert retry_after_ms(header, NOW) == (None if wait is None else NOW + wait)


def test_durations() -> None:
    assert [parse_duration(text) for text in ("30s", "1h30m", "7d", "1w", "250ms", "1.5s")] == [
        30_000,
        5_400_000,
        604_800_000,
        604_800_000,
        250,
        1_500,
    ]
    for bad in ("", "5", "s", "5 s", "-5s", "5x"):
        with pytest.raises(ValueError, match="not a duration"):
            parse_duration(bad)


def test_ulids_hold_their_time_and_go_up() -> None:
    maker = Ulids()
    ids = [maker.next(NOW + n // 500) for n in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000
    assert all(is_ulid(found) and ulid_ms(found) == NOW + n // 500 for n, found in enumerate(ids))
    assert ulid(0, bytes(10)) == "0" * 26


def test_seeded_ulids_are_the_same_again_and_differ_by_index() -> None:
    entropy = hashlib.sha256(b"seed").digest()[:10]
    assert seeded_ulid(NOW, entropy, 1) == seeded_ulid(NOW, entropy, 1)
    assert seeded_ulid(NOW, entropy, 1) != seeded_ulid(NOW, entropy, 2)
    assert is_ulid(seeded_ulid(NOW, bytes([255] * 10), 5))


EVENT = {
    "name": "a/b",
    "data": {"x": 1, "t": "1", "s": "OLA", "l": [1, 2, {"k": "v"}], "n": None, "b": True, "j": '{"y":3}', "e": "aGk="},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("event.data.x == 1", True),
        ("event.data.x == 1.0", True),
        ("event.data.t == 1", True),
        ("event.data.s == 1", False),
        ("event.data.b == true", True),
        ("event.data.x == true", False),
        ("event.data.missing == null", True),
        ("event.data.missing.deep.er == null", True),
        ("event.data.missing != null", False),
        ("event.data.missing > 1", False),
        ("event.data.missing < 1", True),
        ("size(event.data.missing)", 0),
        ("event.data.l.size() == 3", True),
        ("event.data.l[2].k == 'v'", True),
        ("event.data.l[9] == null", True),
        ("event.data['x'] + 1", 2),
        ("event.data.s + 1", "OLA1"),
        ("event.data.t + event.data.x", "11"),
        ("event.data.missing || event.data.x", True),
        ("event.data.missing && true", False),
        ("!event.data.missing", True),
        ("event.data.x in [1, 2] && !('z' in event.data.l)", True),
        ("event.data.x == 1 ? 'yes' : 'no'", "yes"),
        ("lowercase(event.data.s) == 'ola' && uppercase('a') == 'A'", True),
        ("b64decode(event.data.e)", "hi"),
        ("json_parse(event.data.j).y == 3", True),
        ("json_parse('{').y == null", True),
        ("date('2024-01-02') < date('2024-01-02T00:00:01Z')", True),
        ("now() < now_plus('1h') && now() > now_minus('1h')", True),
        ("event.data.l.exists(i, i == 2) && !event.data.l.all(i, i == 2)", True),
        ("event.data.l.filter(i, i > 1).size()", 1),
        ("has(event.data.x) && !has(event.data.q)", True),
        ("event.data.s.startsWith('O') && event.data.s.contains('L') && event.data.s.matches('^O.A$')", True),
        ("event.data.x / 0", None),
        ("-event.data.x", -1),
        ("event.data.x * 2 - 1 == 1 && 7 % 2 == 1", True),
        ("(event.data.x)", 1),
    ],
)
def test_expressions(text: str, value: object) -> None:
    found = compile_expression(text).evaluate({"event": EVENT})
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["event.data.x ==", "foo.bar", "nope(1)", "event.data.x.nope()", "[1].all(x)", "'" * 20_000]
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(text)


def test_a_hostile_pattern_takes_no_time() -> None:
    value = compile_expression("event.data.s.matches('(a+)+$')").evaluate(
        {"event": {"data": {"s": "a" * 50_000 + "b"}}}
    )
    assert value is False


@pytest.mark.parametrize(
    "text",
    [
        "[1,2,3].all(a, " * 16 + "true" + ")" * 16,
        "event.data.many.all(a, !(0 in event.data.many))",
        "event.data.many.all(a, event.data.deep == event.data.deep)",
        "event.data.many.all(a, event.data.long + event.data.long != 'a')",
        "event.data.many.all(a, string(event.data.many) != 'a')",
    ],
)
def test_work_without_end_comes_to_null(text: str) -> None:
    data = {"many": [1] * 60_000, "deep": [[1] * 60_000], "long": "x" * 200_000}
    assert compile_expression(text).evaluate({"event": {"data": data}}) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("async.data.id == event.data.t", ("data.id", "n:1.0")),
        ("event.data.s == async.data.id", ("data.id", "s:OLA")),
        ("async.data.id == 'x' && async.data.n > 3", ("data.id", "s:x")),
        ("async.data.n == 5", ("data.n", "n:5.0")),
        ("async.data.id == event.data.missing", None),
        ("async.data.id == event.data.b", None),
        ("async.data.id == 'x' || true", None),
        ("!(async.data.id == 'x')", None),
        ("async.data.id != 'x'", None),
        ("true ? async.data.id == 'x' : false", None),
    ],
)
def test_the_equality_a_wait_is_found_by(text: str, found: tuple[str, str] | None) -> None:
    assert match_of(compile_expression(text), {"event": EVENT}) == found


@pytest.mark.parametrize("values", [(1, 1.0, "1", "1.0"), ("a",), (0, -0.0, "0")])
def test_loosely_equal_values_share_a_key(values: tuple[Any, ...]) -> None:
    assert len({match_key(value) for value in values}) == 1
