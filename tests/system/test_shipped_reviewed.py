"""A shipped skill that a person turned on, from their verdict on its alarms to the agent's change of it in service."""

from __future__ import annotations

import errno
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import request

from skills.folders import SHIPPED_FOLDER
from standins.model.config import ModelConfig
from standins.model.server import create_app
from tests.support import story
from tests.support.product import Product
from tests.support.prometheus import Metrics, Receiver, prometheus, receiver
from tests.support.skilled_product import SkilledProduct
from tests.support.wsgi import serving

pytestmark = pytest.mark.long

KEY = "a-key-of-this-test"
CHECK, TRIAGE = "infra_health_check", "incident_triage"
FUNCTION = f"skill-{CHECK}/infra-health-check"
PORT = 9090
"""Where the shipped skills look for Prometheus: what stands on the card is what is reached."""
WELL, SLOW, WORSE = 0.2, 0.9, 2.0
"""Seconds: the limit that ships lies between the first two."""
LONGEST_HOLD = 100.0


@dataclass
class Thoughts:
    """Lets the stand-in model take its time over incidents."""

    held: threading.Event | None = None

    def wait(self) -> None:
        body = request.get_json(silent=True)
        wanted = body.get("response_format") if isinstance(body, dict) else None
        if self.held is not None and "incident_correlation" in str(wanted):
            self.held.wait(LONGEST_HOLD)


@dataclass
class ReviewedProduct:
    """A product whose shipped skills watch a service, with everything around it."""

    skills: SkilledProduct
    metrics: Metrics
    incidents: Receiver
    ops: Receiver
    thoughts: Thoughts
    answered: set[str] = field(default_factory=set)

    @property
    def product(self) -> Product:
        return self.skills.product

    def command(self, *words: str) -> str:
        done = self.product.command("skills", *words)
        assert done.status == 0, done.err
        return done.out

    def start(self, latency: float) -> str:
        self.metrics.set("checkout", latency_p95_seconds=latency)
        return self.skills.start(CHECK, "infra-health-check")

    def look(self, latency: float) -> dict[str, Any]:
        """What one health check answers."""
        run = self.skills.run(self.start(latency))
        assert run["status"] == "completed", run
        return dict(run["output"])

    def asked(self) -> list[dict[str, Any]]:
        """What the triage asks people and nobody has answered."""
        cards = [card for card in self.skills.cards("choice") if card["title"] == f"{TRIAGE} asks"]
        return [card for card in cards if card["id"] not in self.answered]

    def alarm(self, latency: float, verdict: str) -> None:
        """An alarm after all was well, and what a person says of it."""
        assert self.look(WELL)["status"] == "normal"
        assert self.look(latency)["status"] == "degraded"
        # The half hour's own run may have been the first to see it.
        for card in self.product.until("the question", self.asked):
            self.answered.add(card["id"])
            self.skills.answer(card, verdict)

    def reviewed(self) -> dict[str, Any]:
        """A review on demand, once it is done."""
        before = {one["id"] for one in self.reviews()}
        self.command("review", CHECK)

        def done() -> list[dict[str, Any]]:
            return [one for one in self.reviews() if one["id"] not in before and one["state"] == "done"]

        return self.product.until("the review", done, 120)[0]

    def reviews(self) -> list[dict[str, Any]]:
        return self.product.items(f"/api/v1/skills/{CHECK}/reviews")

    def version(self, number: int) -> dict[str, Any]:
        """It as its author and people see it; empty while there is none."""
        found = self.product.items(f"/api/v1/skills/{CHECK}/versions")
        return next((one for one in found if one["version"] == number), {})

    def at(self, stage: str) -> dict[str, Any]:
        """The second version, once it has come so far."""

        def there() -> dict[str, Any]:
            found = self.version(2)
            assert found.get("stage") not in {"refused", "quarantined", "superseded"}, found
            return found if found.get("stage") == stage else {}

        return self.product.until(f"version 2 at {stage}", there, 120)

    def kept(self, run_id: str) -> dict[str, Any]:
        """A run as the book of skills has it."""
        found = self.product.get(f"/api/v1/skills/{CHECK}")["runs"]
        return next((run for run in found if run["id"] == run_id), {})

    def ended_on(self, run_id: str) -> tuple[int, str]:
        """The version that a run ended on, and the stage it was in."""
        self.product.until(f"the end of {run_id}", lambda: self.kept(run_id).get("status") == "completed")
        run = self.kept(run_id)
        return run["version"], run["stage"]

    def page(self) -> str:
        answer = self.product.client.get(f"/skills/{CHECK}")
        assert answer.status_code == 200
        return answer.text

    def told(self, beginning: str) -> str:
        """What ops hears."""
        return self.product.until(
            beginning, lambda: next((text for text in self.ops.texts if text.startswith(beginning)), ""), 60
        )


@pytest.fixture
def reviewed_product(
    products: Callable[..., Product], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReviewedProduct]:
    with ExitStack() as stack:
        if (metrics := _metrics_of_the_release(stack)) is None:
            pytest.skip(f"somebody has port {PORT}, where the shipped skills look for Prometheus")
        incidents, ops = stack.enter_context(receiver()), stack.enter_context(receiver())
        thoughts = Thoughts()
        standin = create_app(ModelConfig(tmp_path_factory.mktemp("model"), key=KEY))
        standin.before_request(thoughts.wait)
        model_url = stack.enter_context(serving(standin))
        product = products(
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{model_url}/v1",
            LOOPWRIGHT_NOTIFY_INCIDENTS=incidents.url,
            LOOPWRIGHT_NOTIFY_OPS=ops.url,
            LOOPWRIGHT_CANARY_RUNS="2",
        )
        yield ReviewedProduct(SkilledProduct(product), metrics, incidents, ops, thoughts)


def test_a_review_of_a_shipped_skill_ends_with_the_agents_change_in_service(reviewed_product: ReviewedProduct) -> None:
    shipped = {
        stem: hashlib.sha256((SHIPPED_FOLDER / f"{stem}.py").read_bytes()).hexdigest() for stem in (CHECK, TRIAGE)
    }

    # Given the two shipped skills, turned on by a person who calls most of the alarms false
    reviewed_product.command("enable", TRIAGE)
    reviewed_product.command("enable", CHECK)
    reviewed_product.skills.grant(TRIAGE, CHECK)
    for verdict in ("false alarm", "false alarm", "real", "false alarm", "false alarm"):
        reviewed_product.alarm(SLOW, verdict)
    assert reviewed_product.look(WELL)["status"] == "normal"

    # When it is reviewed
    first = reviewed_product.reviewed()

    # Then a change of its one number follows from the facts, with a prediction, and people hear of both
    assert first["proposal"], first
    (change,) = first["proposal"]["changes"]
    assert (change["constant"], change["from"]) == ("SENSITIVITY", 1.0)
    assert change["to"] == pytest.approx(0.6, abs=0.06)
    said = reviewed_product.told(f"Review of {CHECK}: 4 of")
    assert "Proposed: SENSITIVITY from 1 to" in said
    assert f"Expected: {first['expects']}." in said
    assert first["expects"] == "false alarm rate from 80% to 40%"
    assert f"expected: {first['expects']}" in reviewed_product.command("reviews", CHECK)

    # And the agent drafts it as a version upon the shipped one, which is tried on what was recorded of that
    alarms, asked = len(reviewed_product.incidents.texts), len(reviewed_product.asked())
    draft = reviewed_product.at("shadow")
    story.ended(reviewed_product.product, first["task_id"])
    assert (draft["author"], reviewed_product.version(1)["author"], reviewed_product.version(1)["stage"]) == (
        "agent",
        "shipped",
        "active",
    )
    assert "Expected:" in draft["reason"]
    (dry_run, shadow) = draft["trials"]
    assert (dry_run["how"], dry_run["against"], dry_run["runs"], dry_run["failed"]) == ("dry_run", 1, 5, None)
    assert dry_run["words"].endswith("of version 1, effects faked: 5 went well")
    otherwise = "it asks in other words, and was answered as recorded: the model for `health_assessment`"
    assert any(one.endswith(otherwise) for one in dry_run["differences"]), str(dry_run)
    assert (len(reviewed_product.incidents.texts), len(reviewed_product.asked())) == (alarms, asked)

    # While the version that ships serves, and people see how far the other one is, why, and compared with what
    skill = reviewed_product.skills.skill(CHECK)
    assert (skill["status"], skill["version"], skill["candidate"]) == ("active", 1, {"version": 2, "stage": "shadow"})
    assert (shadow["how"], shadow["against"], shadow["runs"], shadow["of"]) == ("shadow", 1, 0, 1)
    shown = reviewed_product.command("show", CHECK)
    for words in (dry_run["words"], "shadow beside version 1, effects faked: it waits for the next run that ends"):
        assert words in shown
        assert words in reviewed_product.page()
    assert "+SENSITIVITY = 0." in reviewed_product.command("diff", CHECK, "2")

    # When a run is in flight that began on the shipped version: its triage takes its time
    reviewed_product.thoughts.held = threading.Event()
    running = reviewed_product.start(WORSE)
    reviewed_product.product.until("the run in flight", lambda: reviewed_product.kept(running).get("version") == 1)
    reviewed_product.product.until("its triage", lambda: _is_open(reviewed_product, f"skill-{TRIAGE}/incident-triage"))

    # Then the next run of the shipped version is the shadow's, with no effects of its own
    beside = reviewed_product.start(WELL)
    assert reviewed_product.ended_on(beside) == (1, "live")
    candidate = reviewed_product.at("canary")
    assert [one["how"] for one in candidate["trials"]] == ["dry_run", "shadow", "canary"]
    assert candidate["trials"][1]["words"] == "shadow beside version 1, effects faked: 1 went well"
    assert reviewed_product.skills.skill(CHECK)["version"] == 1

    # And its first runs are its own
    assert reviewed_product.ended_on(reviewed_product.start(WELL)) == (2, "canary")
    assert "first runs of its own: 1 of 2 went well" in reviewed_product.command("show", CHECK)
    assert reviewed_product.skills.skill(CHECK)["version"] == 1
    assert reviewed_product.ended_on(reviewed_product.start(WELL)) == (2, "canary")

    # Then it serves, while what began before goes on as it began
    reviewed_product.skills.live(CHECK, 2)
    assert reviewed_product.version(1)["stage"] == "superseded"
    assert reviewed_product.ended_on(reviewed_product.start(WELL)) == (2, "live")
    assert reviewed_product.kept(running)["status"] == "running"
    reviewed_product.thoughts.held.set()
    assert reviewed_product.ended_on(running) == (1, "live")
    assert reviewed_product.skills.run(running)["output"]["triage"]["services"] == ["checkout"]

    # What alarmed before is no alarm any more, and the files are as they ship
    assert reviewed_product.look(SLOW)["status"] == "normal"
    for stem, sha in shipped.items():
        assert hashlib.sha256((SHIPPED_FOLDER / f"{stem}.py").read_bytes()).hexdigest() == sha

    # When people call what it alarms of now real, then the next review holds the prediction against that and says so
    for card in reviewed_product.asked():
        reviewed_product.answered.add(card["id"])
        reviewed_product.skills.answer(card, "real")
    for n in range(3):
        reviewed_product.alarm(WORSE + n / 10, "real")
    second = reviewed_product.reviewed()
    assert (second["proposal"], second["before"]["review_id"], second["before"]["outcome"]) == (
        None,
        first["id"],
        "kept",
    )
    words = "false alarm rate was 80% and should become 40%; it is 0% since: as predicted."
    assert reviewed_product.told(f"Review of {CHECK}: After the last change").endswith(words)
    assert f"after the last change: {words}" in reviewed_product.command("reviews", CHECK)
    assert words in reviewed_product.page()


def _metrics_of_the_release(stack: ExitStack) -> Metrics | None:
    """A Prometheus where the shipped skills look for it; None where somebody else's is, and stays for minutes."""
    until = time.monotonic() + 180
    while True:
        try:
            return stack.enter_context(prometheus(PORT))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        if time.monotonic() > until:
            return None
        time.sleep(1)


def _is_open(reviewed_product: ReviewedProduct, function: str) -> bool:
    """Whether a run of this function is under way."""
    return any(run["status"] == "running" for run in reviewed_product.product.items("/api/v1/runs", function=function))
