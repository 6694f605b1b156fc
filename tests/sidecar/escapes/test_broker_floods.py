"""A skill that asks without end takes up neither the log, nor the database, nor the time of others."""

from __future__ import annotations

import json
import logging
import time

import pytest
import sqlalchemy as sa

from sidecar.broker.rate_limits import RATE_LIMITS
from skills.book import claims, runs
from skills.book.refusals import MOST_AN_HOUR
from skills.kit import Refused, claim
from tests.support.http_servers import Request
from tests.support.skill_world import RUN, SkillWorld, raw

pytestmark = pytest.mark.long
SAID = {"x-run-id": RUN}


def test_refusals_without_end_fill_no_log_and_write_nothing(
    world: SkillWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    address, begun = world.speak_as("bad"), 0

    def begins(_: object) -> None:
        nonlocal begun
        begun += 1

    with raw(address) as client:
        for n in range(MOST_AN_HOUR + 100):
            if n == MOST_AN_HOUR:
                sa.event.listen(sa.Engine, "begin", begins)
            answer = client.post("/notify", json={"channel": "ops", "text": "x"}, headers=SAID)
            assert answer.status_code == 403

    sa.event.remove(sa.Engine, "begin", begins)

    assert len(world.refused("bad")) <= MOST_AN_HOUR
    assert len([one for one in caplog.records if one.name.startswith("sidecar.")]) <= MOST_AN_HOUR
    assert begun <= 5


@pytest.mark.parametrize("path", ["/runs", "/nothing"])
def test_what_cannot_be_read_is_counted_too(world: SkillWorld, path: str) -> None:
    address = world.speak_as("bad")
    with raw(address) as client:
        codes = [
            client.post(path, content=b"{", headers=SAID).status_code for _ in range(RATE_LIMITS["/http"].most + 1)
        ]

    assert (codes[0], codes[-1]) == (422, 403)


def test_claims_without_end_fill_no_database(world: SkillWorld) -> None:
    """Given a run that holds all that its skill may, when it asks for one more it gets none, and the next run does."""
    world.speak_as("bad")
    with world.store.database.transaction(world.store.workspace_id) as scope:
        for n in range(claims.MOST):
            assert claims.claim(scope, "bad", f"{n}", RUN, 3600)
        assert claims.claim(scope, "good", "1", "good-run", 3600)
    with pytest.raises(Refused, match="at most 500 claims"):
        claim("one more")
    assert claim("1")

    with world.store.database.transaction(world.store.workspace_id) as scope:
        runs.record_run_end(scope, RUN, "completed")
    world.speak_as("bad", run_id="next")
    assert claim("one more")


def test_bytes_are_counted_too(world: SkillWorld) -> None:
    address = world.speak_as("bad")
    body = b'{"limit": "' + b"x" * (1900 * 1024) + b'"}'
    with raw(address) as client:
        codes = [client.post("/runs", content=body, headers=SAID).status_code for _ in range(20)]
        assert (codes[0], codes[-1]) == (422, 403)
        # And they are counted for themselves.
        good = world.speak_as("good", run_id="good-run")
        with raw(good) as other:
            assert other.post("/runs", json={}, headers={"x-run-id": "good-run"}).status_code == 200


def test_many_events_in_one_request_are_many(world: SkillWorld, sent: list[Request]) -> None:
    address = world.speak_as("bad", events={"send": ["shop/slow"]})
    with raw(address) as client:
        for _ in range(40):
            events = [{"name": "shop/slow", "id": str(n)} for n in range(100)]
            last = client.post("/e/key", json=events, headers=SAID)

    assert last.status_code == 403
    assert sum(len(json.loads(one.body)) for one in sent) <= RATE_LIMITS["events"].most


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/e/key", '{"name": "shop/slow", "data": {"a": NaN}}'),
        ("/e/key", '{"name": "shop/slow", "data": {"a": 1e999}}'),
        ("/e/key", '{"name": "shop/slow", "data": {"a": -Infinity}}'),
        ("/e/key", '{"name": "shop/slow", "data": ' + '{"a":' * 400 + "1" + "}" * 400 + "}"),
        ("/e/key", '{"name": "shop/slow", "ts": ' + "9" * 40 + "}"),
        ("/e/key", '{"name": "shop/slow", "ts": -1}'),
        ("/e/key", '{"name": "shop/slow", "ts": 7258118400000}'),
        ("/llm", '{"prompt": "x", "facts": {"a": NaN}}'),
        ("/llm", '{"prompt": "x", "schema": {"type": "object", "a": 1e999}}'),
        ("/llm", '{"prompt": "x", "facts": {"a":' + "[" * 400 + '"\\u0000"' + "]" * 400 + "}}"),
    ],
)
def test_what_no_json_holds_is_malformed_and_reaches_nobody(
    world: SkillWorld, sent: list[Request], caplog: pytest.LogCaptureFixture, path: str, body: str
) -> None:
    address = world.speak_as("bad", events={"send": ["shop/slow"]}, model_budget_per_day="1")
    with raw(address) as client:
        answer = client.post(path, content=body.encode(), headers=SAID)

    assert (answer.status_code, answer.json()["retriable"]) == (422, False)
    assert (sent, world.model.requests, caplog.records) == ([], [], [])


def test_an_event_of_tomorrow_is_sent(world: SkillWorld, sent: list[Request]) -> None:
    address, at = world.speak_as("bad", events={"send": ["shop/slow"]}), int(time.time() + 86400) * 1000
    with raw(address) as client:
        assert client.post("/e/key", json={"name": "shop/slow", "ts": at}, headers=SAID).status_code == 200
    assert json.loads(sent[0].body)[0]["ts"] == at
