"""How jobs end: cancelled, killed and taken up again, and never billed twice."""

from pathlib import Path

from tests.studio.listener import listening
from tests.studio.running import Studio, poster, running
from tests.support.waiting import until

FILM = {
    "kind": "video",
    "model": "studio-film-1",
    "params": {"prompt": "Harbour Festival", "seconds": 3, "size": "720x480"},
}


def test_a_cancelled_job_stops_and_costs_nothing(tmp_path: Path) -> None:
    with running(Studio(tmp_path, pace=20)) as studio, listening() as listener:
        job_id = studio.submit("c:1:1", **poster(), callback_url=listener.url).json()["id"]
        until("a running job", lambda: studio.job(job_id)["state"] == "running")
        cancelled = studio.client.post(f"/jobs/{job_id}/cancel")
        assert cancelled.status_code == 200
        assert cancelled.json()["state"] == "cancelled"
        assert cancelled.json()["cost"] == {"amount": "0.00", "currency": "USD"}
        assert studio.client.post(f"/jobs/{job_id}/cancel").status_code == 409
        until("news of it", lambda: listener.states()[-1:] == ["cancelled"])
        assert studio.bill() == []


def test_a_waiting_job_can_be_cancelled_before_anybody_makes_it(tmp_path: Path) -> None:
    with running(Studio(tmp_path, pace=20)) as studio:
        jobs = [studio.submit(f"q:1:{number}", **poster()).json()["id"] for number in range(3)]
        assert studio.job(jobs[2])["state"] == "queued"
        assert studio.client.post(f"/jobs/{jobs[2]}/cancel").json()["state"] == "cancelled"


def test_progress_is_seen_to_move(tmp_path: Path) -> None:
    with running(Studio(tmp_path, pace=1)) as studio, listening() as listener:
        job_id = studio.submit("p:1:1", **poster(), callback_url=listener.url).json()["id"]
        studio.final(job_id)
        until("the last news", lambda: listener.states()[-1:] == ["succeeded"])
        steps = [callback.job["progress"] for callback in listener.heard]
        assert steps == [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]


def test_a_job_in_hand_when_the_studio_is_killed_is_made_and_billed_once(tmp_path: Path) -> None:
    studio = Studio(tmp_path, pace=1)
    with running(studio), listening() as listener:
        waiting = {"a": poster(), "b": FILM, "c": poster("Lighthouse, teal")}
        jobs = {
            key: studio.submit(key, **body, callback_url=listener.url).json()["id"] for key, body in waiting.items()
        }
        for least in (0.1, 0.5, 0.9):
            until(
                f"progress {least}",
                lambda least=least: any(studio.job(job)["progress"] >= least for job in jobs.values()),
            )
            before = {key: studio.job(job) for key, job in jobs.items()}
            studio.kill()
            studio.start()
            for key, job in jobs.items():
                assert studio.submit(key, **waiting[key]).json()["id"] == job
                assert studio.job(job)["progress"] >= before[key]["progress"]
        ends = {key: studio.final(job) for key, job in jobs.items()}
        assert {job["state"] for job in ends.values()} == {"succeeded"}
        assert all(studio.output(job) for job in ends.values())
        billed = [(item["idempotency_key"], item["amount"]) for item in studio.bill()]
        assert sorted(billed) == [("a", "0.04"), ("b", "0.15"), ("c", "0.04")]
        until("news of each end", lambda: listener.states().count("succeeded") == 3)


def test_news_that_was_not_taken_outlives_the_studio(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    with running(studio), listening(refusals=10_000) as listener:
        job_id = studio.submit("n:1:1", **poster(), callback_url=listener.url).json()["id"]
        studio.final(job_id)
        studio.kill()
        listener.refusals = 0
        studio.start()
        until("the news", lambda: "succeeded" in listener.states())
