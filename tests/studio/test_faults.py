"""The ways in which the studio can be told to go wrong."""

import hashlib
import time

import httpx
import pytest

from tests.studio.listener import listening
from tests.studio.running import Studio, poster
from tests.support.waiting import until


def billed(studio: Studio, key: str) -> int:
    return len([item for item in studio.bill() if item["idempotency_key"] == key])


def test_an_unknown_fault_is_refused_with_the_known_ones(studio: Studio) -> None:
    refused = httpx.post(f"{studio.url}/faults", json={"next": "explode"})
    assert refused.status_code == 422
    assert "drop_after_store" in refused.json()["detail"]
    assert httpx.post(f"{studio.url}/faults", json={"next": "error_after_store"}).status_code == 422


def test_the_reply_is_lost_after_the_job_is_stored(studio: Studio) -> None:
    studio.fault("drop_after_store")
    with pytest.raises(httpx.TransportError):
        studio.submit("f:1:1", **poster())
    found = studio.client.get("/jobs", params={"idempotency_key": "f:1:1"}).json()
    assert studio.submit("f:1:1", **poster()).json()["id"] == found["id"]
    studio.final(found["id"])
    assert billed(studio, "f:1:1") == 1


def test_an_error_comes_after_the_job_is_stored(studio: Studio) -> None:
    studio.fault("error_after_store:502")
    assert studio.submit("f:1:2", **poster()).status_code == 502
    found = studio.client.get("/jobs", params={"idempotency_key": "f:1:2"}).json()
    assert studio.final(found["id"])["state"] == "succeeded"


def test_the_reply_is_late(studio: Studio) -> None:
    studio.fault("delay_reply:1")
    before = time.monotonic()
    assert studio.submit("f:1:3", **poster()).status_code == 202
    assert time.monotonic() - before >= 1


def test_busy_accepts_nothing_and_is_used_up(studio: Studio) -> None:
    studio.fault("busy", times=2, match={"kind": "image"})
    refused = [studio.submit("f:1:4", **poster()) for _ in range(2)]
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(429, "1"), (429, "1")]
    assert studio.client.get("/jobs", params={"idempotency_key": "f:1:4"}).status_code == 404
    assert studio.submit("f:1:4", **poster()).status_code == 202


def test_a_fault_waits_for_a_job_of_its_kind(studio: Studio) -> None:
    studio.fault("busy", match={"kind": "video"})
    assert studio.submit("f:1:5", **poster()).status_code == 202


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [("fail_job:the lamp broke", "failed", "the lamp broke"), ("content_refused", "content_refused", "refused")],
)
def test_a_job_fails_for_a_reason_and_costs_nothing(studio: Studio, fault: str, code: str, message: str) -> None:
    studio.fault(fault)
    job = studio.final(studio.submit(f"f:2:{code}", **poster()).json()["id"])
    assert (job["state"], job["error"]["code"], job["outputs"]) == ("failed", code, [])
    assert message in job["error"]["message"]
    assert billed(studio, f"f:2:{code}") == 0


def test_a_status_is_no_status(studio: Studio) -> None:
    job_id = studio.submit("f:3:1", **poster()).json()["id"]
    studio.final(job_id)
    studio.fault("html_status")
    assert studio.client.get(f"/jobs/{job_id}").headers["content-type"].startswith("text/html")
    studio.fault("unknown_state")
    assert studio.job(job_id)["state"] == "REVIEWING"
    studio.fault("error_status:500", times=3)
    assert [studio.client.get(f"/jobs/{job_id}").status_code for _ in range(4)] == [500, 500, 500, 200]
    studio.fault("lost_job")
    assert studio.client.get(f"/jobs/{job_id}").status_code == 404
    studio.fault("error_body_status")
    assert "state" not in studio.job(job_id)
    assert studio.job(job_id)["state"] == "succeeded"


def test_an_output_is_not_what_it_says(studio: Studio) -> None:
    studio.fault("wrong_type_output")
    assert studio.made("f:4:1", **poster()).startswith(b"<!doctype html>")
    studio.fault("empty_output")
    job = studio.final(studio.submit("f:4:2", **poster()).json()["id"])
    assert studio.output(job) == b""
    assert job["outputs"][0]["sha256"] == hashlib.sha256(b"").hexdigest()


def test_news_comes_twice(studio: Studio) -> None:
    studio.fault("duplicate_callbacks")
    with listening() as listener:
        studio.submit("f:5:1", **poster(), callback_url=listener.url)
        until("the end, twice", lambda: listener.states().count("succeeded") == 2)
    assert listener.states().count("running") == 10


def test_news_contradicts_the_end(studio: Studio) -> None:
    studio.fault("late_progress_after_done")
    with listening() as listener:
        job_id = studio.submit("f:5:2", **poster(), callback_url=listener.url).json()["id"]
        until("late news", lambda: listener.states()[-3:] == ["succeeded", "running", "queued"])
    assert studio.job(job_id)["state"] == "succeeded"


def test_no_news_at_all(studio: Studio) -> None:
    studio.fault("no_callbacks")
    with listening() as listener:
        silent = studio.submit("f:5:3", **poster(), callback_url=listener.url).json()["id"]
        studio.final(silent)
        loud = studio.submit("f:5:4", **poster(), callback_url=listener.url).json()["id"]
        until("news of the next job", lambda: "succeeded" in listener.states())
    assert {callback.job["id"] for callback in listener.heard} == {loud}


def test_it_bills_more_than_it_offered_and_says_so(studio: Studio) -> None:
    studio.fault("overcharge:12.5")
    job = studio.submit("f:9:1", **poster()).json()
    assert studio.final(job["id"])["cost"] == {"amount": "0.500", "currency": "USD"}
    assert [item["amount"] for item in studio.bill() if item["idempotency_key"] == "f:9:1"] == ["0.500"]


def test_it_says_a_cost_that_is_none(studio: Studio) -> None:
    for key, told in [("f:9:2", '{"amount": "-1", "currency": "USD"}'), ("f:9:3", "a fortune")]:
        studio.fault(f"odd_cost:{told}")
        job = studio.submit(key, **poster()).json()
        assert studio.final(job["id"])["cost"] in ({"amount": "-1", "currency": "USD"}, "a fortune")
        assert billed(studio, key) == 1
