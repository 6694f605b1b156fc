"""The jobs protocol, call by call."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.studio.running import Studio, poster


def test_a_key_has_one_job_however_often_it_is_sent(studio: Studio) -> None:
    first = studio.submit("once:1:1", **poster())
    again = studio.submit("once:1:1", **poster())
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    found = studio.client.get("/jobs", params={"idempotency_key": "once:1:1"}).json()
    assert found["id"] == first.json()["id"]
    studio.final(found["id"])
    assert [item["amount"] for item in studio.bill() if item["idempotency_key"] == "once:1:1"] == ["0.04"]


def test_the_same_key_at_the_same_moment_has_one_job(studio: Studio) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: studio.submit("race:1:1", **poster()), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [202]
    assert len({answer.json()["id"] for answer in answers}) == 1
    studio.final(answers[0].json()["id"])
    assert len([item for item in studio.bill() if item["idempotency_key"] == "race:1:1"]) == 1


def test_the_same_key_with_another_body_is_refused(studio: Studio) -> None:
    studio.submit("other:1:1", **poster()).raise_for_status()
    refused = studio.submit("other:1:1", **poster("Another poster"))
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert "other:1:1" in refused.json()["detail"]


def test_the_address_of_an_input_may_change_under_the_same_key(studio: Studio) -> None:
    given = {"role": "reference", "media_type": "image/png", "sha256": "0" * 64}
    first = studio.submit("signed:1:1", **poster(), inputs=[{**given, "url": "http://127.0.0.1:9/a?sig=1"}])
    again = studio.submit("signed:1:1", **poster(), inputs=[{**given, "url": "http://127.0.0.1:9/a?sig=2"}])
    assert again.json()["id"] == first.json()["id"]
    studio.client.post(f"/jobs/{first.json()['id']}/cancel").raise_for_status()


@pytest.mark.parametrize("path", ["/models", "/jobs/x", "/jobs?idempotency_key=x", f"/outputs/{'0' * 64}"])
@pytest.mark.parametrize(
    "given", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer é".encode("latin-1")}]
)
def test_calls_without_the_key_are_refused(studio: Studio, path: str, given: dict[str, Any]) -> None:
    assert httpx.get(studio.url + path, headers=given).status_code == 401


def test_the_bill_is_open_on_this_machine_only_and_not_to_web_pages(studio: Studio) -> None:
    assert httpx.get(f"{studio.url}/bill").status_code == 200
    assert httpx.get(f"{studio.url}/bill", headers={"Host": "evil.example"}).status_code == 403
    assert httpx.get(f"{studio.url}/bill", headers={"Origin": "http://evil.example"}).status_code == 403


def test_it_says_what_it_is(studio: Studio) -> None:
    assert "offline stand-in" in httpx.get(studio.url).text
    shown = studio.client.get("/models").json()
    assert shown["standin"] is True
    prices = {model["kind"]: (model["price"]["amount"], model["price"]["per"]) for model in shown["models"]}
    assert prices == {
        "image": ("0.04", "job"), "video": ("0.05", "second"), "audio": ("0.01", "second"), "model3d": ("0.10", "job"),
    }  # fmt: skip
    film = next(model for model in shown["models"] if model["kind"] == "video")
    assert film["durations"] == [3, 5, 8, 10]
    assert {given["role"] for given in film["inputs"]} == {"source", "reference"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ([], "body"),
        ({"kind": "hologram", "model": "studio-poster-1"}, "image, video, audio, model3d"),
        ({**poster(), "model": "studio-film-1"}, "studio-poster-1"),
        (poster(""), "params.prompt"),
        (poster(sizes="1x1"), "params.sizes"),
        (poster(size="huge"), "1024x1536"),
        (poster(size="99999x12"), "2160"),
        (poster(aspect="7:1"), "9:16"),
        ({"kind": "video", "model": "studio-film-1", "params": {"prompt": "x", "seconds": 60}}, "params.seconds"),
        ({**poster(), "inputs": [{"role": "mask", "data": "aaaa"}]}, "source"),
        ({**poster(), "inputs": [{"role": "source"}]}, "url or base64"),
        ({**poster(), "inputs": [{"role": "source", "data": "not base64!"}]}, "base64"),
        ({**poster(), "inputs": [{"role": "source", "data": "aaaa", "sha256": "0" * 64}]}, "hash"),
        ({**poster(), "callback_url": "file:///etc/passwd"}, "callback_url"),
        (poster(title="\ud800"), "params.title"),
        ({**poster(), "params": {f"wish{number}": 1 for number in range(5000)}}, "params.wish0"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_do(studio: Studio, body: Any, named: str) -> None:
    refused = studio.client.post("/jobs", content=json.dumps(body), headers={"Idempotency-Key": "bad:1:1"})
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert named in refused.json()["detail"]
    assert len(refused.content) < 10_000
    assert studio.client.get("/jobs", params={"idempotency_key": "bad:1:1"}).status_code == 404


def test_what_is_no_call_of_the_protocol_is_a_problem_too(studio: Studio) -> None:
    headers = {"Idempotency-Key": "bad:1:2"}
    assert studio.client.post("/jobs", content=b"{", headers=headers).json()["code"] == "malformed_json"
    assert studio.client.post("/jobs", content=b"[" * 100_000, headers=headers).json()["code"] == "malformed_json"
    assert studio.client.post("/jobs", content=b"\xff", headers=headers).json()["code"] == "malformed_json"
    assert studio.client.post("/jobs", json=poster()).json()["code"] == "missing_key"
    assert studio.client.get("/jobs/job_unknown").status_code == 404
    assert studio.client.post("/jobs/job_unknown/cancel").status_code == 404
    assert studio.client.get("/nowhere").headers["content-type"] == "application/problem+json"


def test_a_final_job_cannot_be_cancelled(studio: Studio) -> None:
    job_id = studio.submit("final:1:1", **poster()).json()["id"]
    assert studio.final(job_id)["state"] == "succeeded"
    refused = studio.client.post(f"/jobs/{job_id}/cancel")
    assert refused.status_code == 409
    assert refused.json()["job"]["state"] == "succeeded"
