"""The shipped health check beside real metrics: people hear of a change once, not of every look at the same trouble."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from core.errors import NotFoundError
from runtime.cards import cards
from runtime.tables import notices
from skills.folders import SHIPPED_FOLDER
from skills.tables import skill_runs
from tests.support.prometheus import Metrics, prometheus
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

CHECK, TRIAGE = "day_check", "day_triage"
FUNCTION = f"skill-{CHECK}/infra-health-check"


@pytest.fixture
def metrics(skills: RunningSidecar) -> Iterator[Metrics]:
    with prometheus() as running:
        moved = {"127.0.0.1:9090": running.address, "incident_triage": TRIAGE}
        for stem, shipped in ((TRIAGE, "incident_triage"), (CHECK, "infra_health_check")):
            text = (SHIPPED_FOLDER / f"{shipped}.py").read_text()
            for old, new in moved.items():
                text = text.replace(old, new)
            skills.save(stem, text)
            skills.answer(stem, "grant")
            skills.live(stem, 1)
        yield running


def look(skills: RunningSidecar) -> dict[str, Any]:
    """What the next health check answers."""
    path = f"/v2/apps/skill-{CHECK}/functions/infra-health-check/invoke"
    run_id = str(skills.client.post(path, {"data": {}})["data"]["runId"])

    def done() -> dict[str, Any]:
        try:
            run = skills.history.get(run_id)
        except NotFoundError:
            # Some engines write their history a little later.
            return {}
        assert run["status"] != "failed", run
        with skills.reading() as scope:
            kept = scope.scalar(scope.select(skill_runs.c.output).where(skill_runs.c.run_id == run_id))
        return dict(kept) if run["status"] == "completed" and kept is not None else {}

    return until("the check", done, 60)


def said(skills: RunningSidecar) -> tuple[list[str], list[str], int]:
    """The first lines of what was posted, to the incidents and to ops, and how many questions are open."""
    with skills.reading() as scope:
        rows = scope.rows(scope.select(notices.c.channel, notices.c.text).order_by(notices.c.created_at))
        asked = [card for card in cards.list_open_cards(scope) if card.kind == "choice"]
    told = {
        channel: [row.text.splitlines()[0] for row in rows if row.channel == channel]
        for channel in ("incidents", "ops")
    }
    return told["incidents"], told["ops"], len(asked)


def a_day_passes(skills: RunningSidecar) -> None:
    """What was told last was told a day before."""
    with skills.writing() as scope:
        for row in scope.rows(
            scope.select(skill_runs.c.run_id, skill_runs.c.output).where(skill_runs.c.skill_id == CHECK)
        ):
            told = (row.output or {}).get("told")
            if told is not None:
                output = {**row.output, "told": {**told, "at": (scope.now - timedelta(hours=25)).isoformat()}}
                scope.change(scope.update(skill_runs).where(skill_runs.c.run_id == row.run_id).values(output=output))


def test_people_hear_of_what_becomes_worse_and_of_its_end(skills: RunningSidecar, metrics: Metrics) -> None:
    # while all is well nobody is told
    assert look(skills)["status"] == "normal"
    assert said(skills) == ([], [], 0)
    # a service that degrades is told of once, however long it stays so
    metrics.set("checkout", latency_p95_seconds=1.0)
    assert [look(skills)["status"] for _ in range(3)] == ["degraded"] * 3
    first = f"[skill {TRIAGE}] Incident (degraded, medium): checkout"
    assert said(skills) == ([first], [], 1)
    # what gets worse is told, and so is another service
    metrics.set("checkout", latency_p95_seconds=4.0)
    look(skills)
    look(skills)
    worse = f"[skill {TRIAGE}] Incident (critical, high): checkout"
    assert said(skills)[0] == [first, worse]
    metrics.set("cart", error_rate=0.05)
    look(skills)
    look(skills)
    both = f"[skill {TRIAGE}] Incident (critical, high): cart, checkout"
    assert said(skills)[0] == [first, worse, both]
    # after a day it is told again
    a_day_passes(skills)
    look(skills)
    look(skills)
    assert said(skills)[0] == [first, worse, both, both]
    # the end is told once
    metrics.set("checkout")
    metrics.set("cart")
    look(skills)
    look(skills)
    assert said(skills)[1] == [f"[skill {CHECK}] Back to normal: cart, checkout"]
    # and what comes after it is news
    metrics.set("checkout", latency_p95_seconds=1.0)
    look(skills)
    assert said(skills)[0][-1] == first
    assert said(skills)[2] == 5
