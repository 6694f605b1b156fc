"""Run history on Inngest's cloud, whose documented API a small server of ours speaks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from core.errors import RefusedError, UnavailableError
from core.orchestrator.engine import Engine
from core.orchestrator.run_history import RunHistory
from core.settings import load_settings
from skills.review.history import list_engine_runs
from tests.runs.cloud import BRANCH_KEY, KEY, START, Cloud, CloudRun, inngest_cloud

STATUSES = ("COMPLETED", "FAILED", "CANCELLED", "RUNNING", "QUEUED")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    with inngest_cloud() as running:
        yield running


def history(cloud: Cloud, *keys: str, environment: str = "") -> RunHistory:
    return RunHistory.of(cloud.engine(*keys, environment=environment))


def test_a_review_reads_every_run_of_a_function_since_a_moment(cloud: Cloud) -> None:
    cloud.keep(*(CloudRun(n, status=STATUSES[n % 5]) for n in range(230)))
    cloud.keep(CloudRun(300, function="other"), CloudRun(301, app="skill-another"))
    since = START + timedelta(minutes=10)

    runs = list_engine_runs(history(cloud), "watch", ["check"], since)

    assert [run.id for run in runs] == [CloudRun(n).id for n in range(229, 9, -1)]
    assert [run.status for run in runs] == [STATUSES[n % 5].lower() for n in range(229, 9, -1)]
    assert {(run.app, run.function) for run in runs} == {("skill-watch", "check")}
    for run in runs:
        assert (run.ended_at is not None) == (run.status in {"completed", "failed", "cancelled"})
        if run.ended_at is not None and run.started_at is not None:
            assert datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at) == timedelta(seconds=2)
    # Three pages, and a question for each run that has not ended: the cloud counts requests.
    assert len(cloud.requests) == 3 + sum(run.ended_at is None for run in runs)


def test_a_function_without_runs_has_none(cloud: Cloud) -> None:
    assert list_engine_runs(history(cloud), "watch", ["check"], START) == []


def test_a_run_that_is_only_listed_yet_is_there(cloud: Cloud) -> None:
    run = CloudRun(1, status="RUNNING", only_listed=True)
    cloud.keep(run)

    found = history(cloud).get(run.id)

    assert (found["status"], found["function"], found["output"]) == ("running", "check", None)


def test_an_end_is_seen_at_once_whatever_the_cloud_keeps_in_its_cache(cloud: Cloud) -> None:
    run = CloudRun(1, status="RUNNING")
    cloud.keep(run)
    here = history(cloud)
    assert here.get(run.id)["status"] == "running"

    run.status, run.output = "FAILED", {"error": {"name": "KeyError", "message": "'x'"}}

    assert here.get(run.id)["status"] == "failed"
    assert [one["status"] for one in here.list(function="skill-watch/check")["items"]] == ["failed"]


def test_one_run_is_told_with_its_event_and_its_steps(cloud: Cloud) -> None:
    steps = ({"name": "read", "output": {"data": 3}}, {"name": "store", "output": {"rows": 1}})
    cloud.keep(CloudRun(1, output={"status": "normal"}, steps=steps))

    run = history(cloud).get(CloudRun(1).id)

    assert (run["status"], run["output"], run["error"]) == ("completed", {"status": "normal"}, None)
    assert (run["event"]["name"], run["event"]["data"]) == ("watch/asked", {"q": "é"})
    assert [(step["name"], step["output"]) for step in run["steps"]] == [("read", 3), ("store", {"rows": 1})]


def test_a_wrong_key_is_named_and_a_fallback_is_tried(cloud: Cloud) -> None:
    cloud.keep(CloudRun(1))
    wrong = "signkey-prod-" + "ff" * 32

    with pytest.raises(RefusedError, match="INNGEST_SIGNING_KEY"):
        history(cloud, wrong).list()

    assert [run["id"] for run in history(cloud, wrong, KEY).list()["items"]] == [CloudRun(1).id]


def test_a_branch_is_asked_by_its_name(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    cloud.branch = "topic"
    cloud.keep(CloudRun(1))
    with pytest.raises(RefusedError):
        history(cloud, BRANCH_KEY).list()

    told = {"INNGEST_BASE_URL": cloud.url, "INNGEST_SIGNING_KEY": BRANCH_KEY, "INNGEST_ENV": "topic"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)

    assert len(RunHistory.of(Engine.of(load_settings())).list()["items"]) == 1


def test_where_lists_are_not_offered_all_runs_are_an_error_and_a_review_has_its_ledger(cloud: Cloud) -> None:
    cloud.lists_runs = False
    cloud.keep(CloudRun(1))

    with pytest.raises(UnavailableError, match="lists no runs"):
        history(cloud).list()

    assert list_engine_runs(history(cloud), "watch", ["check"], START) == []
    assert history(cloud).get(CloudRun(1).id)["status"] == "completed"
