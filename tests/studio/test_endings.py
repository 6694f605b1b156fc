"""How jobs end: cancelled, killed and taken up again, and never billed twice."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.studio.listener import listening
from tests.studio.running import Json, Studio, poster, running
from tests.support.waiting import until

FILM = {"kind": "video", "model": "studio-film-1", "params": {"prompt": "Regatta", "seconds": 1, "size": "480x320"}}


@pytest.fixture(scope="module")
def slow_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with running(Studio(tmp_path_factory.mktemp("slow"), pace=60)) as studio:
        yield studio


def test_a_cancelled_job_stops_and_costs_nothing(slow_studio: Studio) -> None:
    with listening() as listener:
        job_id = slow_studio.submit("c:1:1", **poster(), callback_url=listener.url).json()["id"]
        until("a running job", lambda: slow_studio.job(job_id)["state"] == "running")
        cancelled = slow_studio.client.post(f"/jobs/{job_id}/cancel")
        assert cancelled.status_code == 200
        assert cancelled.json()["state"] == "cancelled"
        assert cancelled.json()["cost"] == {"amount": "0.00", "currency": "USD"}
        assert slow_studio.client.post(f"/jobs/{job_id}/cancel").status_code == 409
        until("news of it", lambda: listener.states()[-1:] == ["cancelled"])
    assert slow_studio.bill() == []


def test_a_waiting_job_can_be_cancelled_before_anybody_makes_it(slow_studio: Studio) -> None:
    jobs = [slow_studio.submit(f"q:1:{number}", **poster()).json()["id"] for number in range(4)]
    assert slow_studio.job(jobs[3])["state"] == "queued"
    assert slow_studio.client.post(f"/jobs/{jobs[3]}/cancel").json()["state"] == "cancelled"


def test_without_leave_there_are_no_faults(slow_studio: Studio) -> None:
    assert httpx.post(f"{slow_studio.url}/faults", json={"next": "busy"}).status_code == 404


@pytest.mark.kill
def test_a_job_in_hand_when_the_studio_is_killed_is_made_and_billed_once(tmp_path: Path) -> None:
    studio = Studio(tmp_path, pace=0.6)
    wanted = {"a": poster(), "b": FILM, "c": poster("Lighthouse, teal")}
    with running(studio), listening() as listener:
        jobs = {key: studio.submit(key, **body, callback_url=listener.url).json()["id"] for key, body in wanted.items()}
        for least in (0.1, 0.7):
            before = seen_at(studio, jobs, least)
            studio.kill()
            studio.start()
            for key, job_id in jobs.items():
                assert studio.submit(key, **wanted[key]).json()["id"] == job_id
                assert studio.job(job_id)["progress"] >= before[key]["progress"]
        ends = [studio.final(job_id) for job_id in jobs.values()]
        assert {job["state"] for job in ends} == {"succeeded"}
        assert all(studio.output(job) for job in ends)
        billed = [(item["idempotency_key"], item["amount"]) for item in studio.bill()]
        assert sorted(billed) == [("a", "0.04"), ("b", "0.05"), ("c", "0.04")]
        until("news of each end", lambda: listener.states().count("succeeded") == 3)


def seen_at(studio: Studio, jobs: Mapping[str, str], least: float) -> dict[str, Json]:
    """The jobs at a moment when one of them had come this far."""

    def look() -> dict[str, Json] | None:
        seen = {key: studio.job(job_id) for key, job_id in jobs.items()}
        return seen if any(job["progress"] >= least for job in seen.values()) else None

    seen = until(f"progress {least}", look, every=0.01, most_between=0.01)
    assert seen is not None
    return seen


@pytest.mark.long
def test_news_not_taken_and_faults_to_come_outlive_the_studio(tmp_path: Path) -> None:
    studio = Studio(tmp_path, faults=True)
    with running(studio), listening(refusals=10_000) as listener:
        studio.final(studio.submit("n:1:1", **poster(), callback_url=listener.url).json()["id"])
        studio.fault("busy")
        studio.kill()
        listener.refusals = 0
        studio.start()
        until("the news", lambda: "succeeded" in listener.states())
        assert studio.submit("n:1:2", **poster()).status_code == 429
