"""A skill improves by feedback: a sentence becomes two durable functions, which run on schedule, are judged, and
are changed by a review; with the opposite feedback it goes the other way, with little of it nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from skills.review.sensitivity import read_tunables
from tests.support import story
from tests.support.product import Product
from tests.support.prometheus import Metrics, Receiver, prometheus, receiver
from tests.support.skilled_product import MOST_SECONDS, SkilledProduct

pytestmark = pytest.mark.long

SENTENCE = "{service} turns slow after midnight and we only hear of it at breakfast. Our Prometheus is at {url}."
SLOW = 0.9
"""Seconds; a little above the limit that the skills begin with."""
WELL = 0.2
HALF_HOURLY = "*/30 * * * *"
TICK = "inngest/scheduled.timer"


@dataclass
class Loop:
    """What one sentence became."""

    skills: SkilledProduct
    metrics: Metrics
    incidents: Receiver
    ops: Receiver
    service: str

    @property
    def product(self) -> Product:
        return self.skills.product

    @property
    def check(self) -> str:
        return f"{self.service}_health_check"

    @property
    def triage(self) -> str:
        return f"{self.service}_incident_triage"

    @property
    def sensitivity(self) -> float:
        """As it stands in the agent's file."""
        return next(one.value for one in read_tunables(self.skills.text(self.check)) if one.name == "SENSITIVITY")

    def begin(self) -> None:
        """Steps one to three: a person says what is missing, and two functions are live once the cards are answered."""
        message_id = self.product.say(SENTENCE.format(service=self.service, url=self.metrics.url))
        task_id = story.task_of(self.product, message_id)
        self.skills.grant(self.triage, self.check)
        story.ended(self.product, task_id, seconds=180)

    def look(self, latency: float) -> dict[str, Any]:
        """Step four: a run reads the metrics and, if something is wrong, has it triaged."""
        self.metrics.services.clear()
        self.metrics.set(self.service, latency_p95_seconds=latency)
        run = self.skills.run(self.skills.start(self.check, "infra-health-check"))
        assert run["status"] == "completed", run
        return dict(run["output"])

    def alarm(self, answer: str | None, latency: float = SLOW) -> None:
        """A run that alarms after one that found all well, and what a person says of it."""
        assert self.look(WELL)["status"] == "normal"
        before = {card["id"] for card in self.skills.cards("choice")}
        assert self.look(latency)["status"] == "degraded"
        fresh = [card for card in self.skills.cards("choice") if card["id"] not in before]
        (card,) = [card for card in fresh if card["title"] == f"{self.triage} asks"]
        if answer is not None:
            self.skills.answer(card, answer)

    def review(self) -> tuple[list[str], Any]:
        """Step five: the review, on demand; what its run answers, and what the review says of itself."""
        known = {run["id"] for run in self.skills.runs("loopwright/review-skills")}
        self.skills.engine.send("skill/review.requested", {"workspace_id": "ws_local", "skill_id": self.check})

        def done() -> list[Any]:
            new = [run for run in self.skills.runs("loopwright/review-skills") if run["id"] not in known]
            return [run["output"] for run in new if run["status"] == "completed" and run["output"] is not None]

        found = list(self.product.until("the review", done, 90)[0])
        return found, self.product.items(f"/api/v1/skills/{self.check}/reviews")[0]

    def runs_until(self, version: int, latency: float) -> None:
        """The gate: the new version is tried beside the old one and on a first run of its own, then it serves."""

        def serves() -> bool:
            skill = self.skills.skill(self.check)
            if (skill["status"], skill["version"]) == ("active", version):
                return True
            self.look(latency)
            return False

        self.product.until(f"version {version} of {self.check}", serves, 180)

    def told(self, beginning: str) -> str:
        """What ops hears of the review."""
        head = f"Review of {self.check}: {beginning}"
        return self.product.until(head, lambda: next((t for t in self.ops.texts if t.startswith(head)), ""), 60)


@pytest.fixture(scope="module")
def loop_of(products: Callable[..., Product]) -> Iterator[Callable[[str], Loop]]:
    with ExitStack() as stack:
        metrics = stack.enter_context(prometheus())
        incidents, ops = stack.enter_context(receiver()), stack.enter_context(receiver())
        product = products(
            LOOPWRIGHT_NOTIFY_INCIDENTS=incidents.url,
            LOOPWRIGHT_NOTIFY_OPS=ops.url,
            LOOPWRIGHT_CANARY_RUNS="1",
        )
        yield lambda service: Loop(SkilledProduct(product), metrics, incidents, ops, service)


@pytest.fixture(scope="module")
def checkout(loop_of: Callable[[str], Loop]) -> Loop:
    found = loop_of("checkout")
    found.begin()
    return found


@pytest.fixture(scope="module")
def search(loop_of: Callable[[str], Loop]) -> Loop:
    found = loop_of("search")
    found.begin()
    return found


def test_a_sentence_becomes_two_functions_that_run_and_alarm(checkout: Loop) -> None:
    check, triage = checkout.skills.skill(checkout.check), checkout.skills.skill(checkout.triage)

    assert (check["status"], check["version"], triage["status"]) == ("active", 1, "active")
    assert check["triggers"][0]["cron"] == "*/30 * * * *"
    assert len(check["next_runs"]) > 0
    checkout.metrics.deploys = [("checkout", "v42", 12)]
    said = checkout.look(2.0)
    assert (said["status"], said["by"], said["triage"]["by"]) == ("degraded", "model", "model")
    summary = checkout.product.until("the summary", lambda: next((t for t in checkout.incidents.texts), ""))
    assert "Likely cause: checkout v42 was deployed 12 minutes ago" in summary
    checkout.metrics.deploys = []
    assert checkout.look(0.2)["status"] == "normal"


def test_with_few_runs_nothing_changes(search: Loop) -> None:
    for _ in range(2):
        search.alarm("false alarm")

    became, review = search.review()
    assert became == ["kept"], review

    assert search.sensitivity == 1.0
    assert search.skills.skill(search.check)["version"] == 1
    assert not [text for text in search.ops.texts if text.startswith(f"Review of {search.check}")]
    # A person has it look each minute from now on; others do their work meanwhile, and a later test reads what came.
    text = search.skills.text(search.check)
    assert HALF_HOURLY in text
    search.skills.save(search.check, text.replace(HALF_HOURLY, "* * * * *"))
    search.skills.live(search.check, 2)


def test_false_alarms_make_it_less_sensitive_and_the_new_version_runs(checkout: Loop) -> None:
    for answer in ("false alarm", "false alarm", "real", "false alarm", "false alarm"):
        checkout.alarm(answer)

    became, review = checkout.review()
    assert became == ["proposed"], review

    assert "Proposed: SENSITIVITY from 1 to" in checkout.told("4 of")
    checkout.runs_until(2, SLOW)
    assert checkout.sensitivity == pytest.approx(0.6, abs=0.05)
    version = checkout.skills.skill(checkout.check)
    assert version["version"] == 2
    # What alarmed before is no alarm any more, and what is worse still is.
    assert checkout.look(SLOW)["status"] == "normal"
    assert checkout.look(2.0)["status"] == "degraded"


def test_alarms_that_come_too_late_make_it_more_sensitive(loop_of: Callable[[str], Loop]) -> None:
    payments = loop_of("payments")
    payments.begin()
    assert payments.look(0.6)["status"] == "normal"
    for answer in ("real but too late", "real but too late", "real", "real but too late", "real but too late"):
        payments.alarm(answer)

    became, review = payments.review()
    assert became == ["proposed"], review

    payments.told("4 of")
    payments.runs_until(2, 0.6)
    assert payments.sensitivity == pytest.approx(1.67, abs=0.1)
    assert payments.look(0.6)["status"] == "degraded"


def test_its_schedule_starts_it_and_nobody_else(search: Loop) -> None:
    def ticks() -> list[dict[str, Any]]:
        runs = search.skills.runs(f"skill-{search.check}/infra-health-check")
        return [run for run in runs if run["event"]["name"] == TICK and run["status"] == "completed" and run["output"]]

    first = search.product.until("a run that the schedule began", ticks, 150)[0]
    disabled = search.product.command("skills", "disable", search.check)

    assert first["output"]["status"] in {"normal", "degraded", "critical"}
    assert [step["name"] for step in first["steps"]][:2] == ["read-metrics", "assess-health"]
    kept = next(run for run in search.skills.skill(search.check)["runs"] if run["id"] == first["id"])
    assert (kept["status"], kept["stage"]) == ("completed", "live")
    assert disabled.status == 0, disabled.err


def test_the_next_review_says_whether_the_change_did_what_was_predicted(checkout: Loop) -> None:
    for n in range(5):
        checkout.alarm("real", 2.0 + n / 10)

    became, review = checkout.review()
    assert became == ["kept"], review

    told = checkout.told("After the last change")
    assert "false alarm rate was" in told
    assert told.endswith("it is 0% since: as predicted.")
    shown = checkout.product.command("skills", "reviews", checkout.check)
    assert "SENSITIVITY: 1 to 0." in shown.out
    assert "as predicted." in shown.out


def test_a_failed_run_is_told_and_the_agent_looks_at_it(checkout: Loop) -> None:
    checkout.metrics.down = True
    data = {"services": [checkout.service], "service": checkout.service, "status": "critical", "reasoning": "down"}

    checkout.skills.engine.send("infra/incident.triage", data)

    head = f"skill-{checkout.triage}-incident-triage failed"
    told = checkout.product.until(
        head, lambda: next((t for t in checkout.ops.texts if t.startswith(head)), ""), MOST_SECONDS
    )
    assert "Prometheus answered 503" in told
    assert told.endswith("The agent is asked to repair it.")
    goal = f"Repair the skill {checkout.triage}"
    asked = [one for one in checkout.product.items("/api/v1/tasks") if one["goal"].startswith(goal)]
    assert len(asked) == 1
    story.ended(checkout.product, asked[0]["id"], seconds=120)
    assert checkout.skills.skill(checkout.triage)["version"] == 1
