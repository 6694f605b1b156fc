"""The shipped skills on a real product: metrics and webhooks over HTTP, a model that fails, a triage that fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import httpx
import pytest

from standins.model.config import ModelConfig
from standins.model.server import create_app
from tests.support.product import Product
from tests.support.prometheus import Metrics, Receiver, prometheus, receiver
from tests.support.skilled_product import MOST_SECONDS, SkilledProduct
from tests.support.wsgi import serving

pytestmark = pytest.mark.long

KEY = "a-key-of-this-test"
CHECK, TRIAGE = "night_check", "night_triage"


@dataclass
class ShippedProduct:
    """A product that watches services, with everything around it."""

    skills: SkilledProduct
    metrics: Metrics
    incidents: Receiver
    ops: Receiver
    model_url: str

    @property
    def product(self) -> Product:
        return self.skills.product

    def check(self) -> dict[str, object]:
        """What one health check answers."""
        run = self.skills.run(self.skills.start(CHECK, "infra-health-check"))
        assert run["status"] == "completed", run
        return dict(run["output"])

    def model_fails(self, verdict: str, times: int) -> None:
        fault = {"next": "error:500", "times": times, "match": {"thread": verdict}}
        httpx.post(f"{self.model_url}/faults", json=fault).raise_for_status()


@pytest.fixture(scope="module")
def shipped_product(
    products: Callable[..., Product], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShippedProduct]:
    with ExitStack() as stack:
        metrics = stack.enter_context(prometheus())
        incidents, ops = stack.enter_context(receiver()), stack.enter_context(receiver())
        standin = create_app(ModelConfig(tmp_path_factory.mktemp("model"), key=KEY, faults=True))
        model_url = stack.enter_context(serving(standin))
        product = products(
            OPENAI_API_KEY=KEY,
            OPENAI_BASE_URL=f"{model_url}/v1",
            LOOPWRIGHT_NOTIFY_INCIDENTS=incidents.url,
            LOOPWRIGHT_NOTIFY_OPS=ops.url,
        )
        skills = SkilledProduct(product)
        for words in (
            ("enable", "infra_health_check"),
            ("new", TRIAGE, "--from", "incident_triage", "--use", f"127.0.0.1:9090={metrics.address}"),
        ):
            done = product.command("skills", *words)
            assert done.status == 0, done.err
        copied = {"127.0.0.1:9090": metrics.address, "incident_triage": TRIAGE}
        # A check reads the metrics in four rounds; they are to be over in a test's time, whatever the engine's pauses.
        short = {"minutes=5": "seconds=2", "retries=3": "retries=1"}
        skills.copy("infra_health_check", CHECK, copied | short)
        skills.grant(TRIAGE, CHECK)
        yield ShippedProduct(skills, metrics, incidents, ops, model_url)


@pytest.fixture(autouse=True)
def well(shipped_product: ShippedProduct) -> None:
    """Each test begins with services that are well."""
    shipped_product.metrics.services.clear()
    shipped_product.metrics.set("checkout")
    shipped_product.metrics.set("cart")
    shipped_product.metrics.deploys.clear()
    shipped_product.metrics.down, shipped_product.metrics.held = False, None


def test_the_shipped_file_itself_is_off_and_asks_before_it_serves(shipped_product: ShippedProduct) -> None:
    found = shipped_product.product.until(
        "its card", lambda: shipped_product.skills.skill("infra_health_check")["status"] == "waiting"
    )
    (card,) = [one for one in shipped_product.skills.cards("permission") if "infra_health_check" in one["title"]]

    assert found
    assert "reach 127.0.0.1:9090" in card["body"]
    assert shipped_product.skills.skill("incident_triage")["status"] == "disabled"


def test_while_all_is_well_nobody_is_told(shipped_product: ShippedProduct) -> None:
    told = len(shipped_product.incidents.texts)

    said = shipped_product.check()

    assert (said["status"], said["by"]) == ("normal", "model")
    assert len(shipped_product.incidents.texts) == told


def test_an_incident_is_triaged_posted_once_and_people_are_asked(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.set("checkout", latency_p95_seconds=2.0)
    shipped_product.metrics.deploys = [("checkout", "v42", 12), ("checkout", "v41", 110), ("cart", "v7", 1)]

    said = shipped_product.check()

    assert (said["status"], said["services"], said["measured"]) == ("degraded", ["checkout"], 2.5)
    text = shipped_product.product.until(
        "the summary", lambda: next((t for t in shipped_product.incidents.texts if "v42" in t), "")
    )
    assert text.startswith(f"[skill {TRIAGE}] Incident (degraded, medium): checkout\n")
    assert "Likely cause: checkout v42 was deployed 12 minutes ago" in text
    assert "• Roll back checkout v42" in text
    (card,) = [one for one in shipped_product.skills.cards("choice") if "v42" in one["body"]]
    assert [option["id"] for option in card["options"]] == ["real", "real but too late", "false alarm"]
    assert shipped_product.incidents.texts.count(text) == 1


def test_when_the_model_fails_rules_classify_and_correlate(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.set("cart", error_rate=0.3)
    shipped_product.metrics.deploys = [("cart", "v9", 4)]
    shipped_product.model_fails("health_assessment", 1)
    shipped_product.model_fails("incident_correlation", 1)

    said = shipped_product.check()

    assert (said["status"], said["services"], said["by"]) == ("critical", ["cart"], "rules")
    triage = said["triage"]
    assert isinstance(triage, dict)
    assert (triage["by"], triage["severity"]) == ("rules", "high")
    assert "cart v9 was deployed 4 minutes ago" in triage["cause"]


def test_while_the_metrics_are_down_it_waits_and_asks_again(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.down = True
    run_id = shipped_product.skills.start(CHECK, "infra-health-check")

    def waits() -> bool:
        return "wait-for-metrics" in [
            step["name"] for step in shipped_product.product.get(f"/api/v1/runs/{run_id}")["steps"]
        ]

    shipped_product.product.until("the wait", waits, MOST_SECONDS)
    shipped_product.metrics.down = False

    assert shipped_product.skills.run(run_id)["output"]["status"] == "normal"


def test_a_check_that_finds_no_metrics_at_all_gives_up_and_tells_ops(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.down = True

    run = shipped_product.skills.run(shipped_product.skills.start(CHECK, "infra-health-check"), MOST_SECONDS)

    assert run["status"] == "failed"
    assert [step["name"] for step in run["steps"]].count("wait-for-metrics") == 3
    head = "The health check could not look at the services: Prometheus answered 503"
    shipped_product.product.until(
        "the handler's words", lambda: any(head in text for text in shipped_product.ops.texts), 60
    )


def test_one_triage_a_service_at_a_time_by_a_row_whatever_the_engines_key_says(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.set("checkout", latency_p95_seconds=2.0)
    shipped_product.metrics.held = threading.Event()
    before = len(shipped_product.incidents.texts)
    runs = f"skill-{TRIAGE}/incident-triage"
    known = {run["id"] for run in shipped_product.skills.runs(runs)}
    data = {"services": ["checkout"], "status": "degraded", "reasoning": "slow"}
    shipped_product.skills.engine.send("infra/incident.triage", {**data, "service": "one key"})

    def claimed() -> bool:
        new = [run for run in shipped_product.skills.runs(runs) if run["id"] not in known]
        return any(step["name"] == "claim-services" and step["output"] for run in new for step in run["steps"])

    shipped_product.product.until("the first one's claim", claimed)
    shipped_product.skills.engine.send("infra/incident.triage", {**data, "service": "another key"})

    def skipped() -> bool:
        new = [run for run in shipped_product.skills.runs(runs) if run["id"] not in known]
        return any("skipped" in (run["output"] or {}) for run in new)

    shipped_product.product.until("the second one to stand back", skipped)
    assert len(shipped_product.incidents.texts) == before
    shipped_product.metrics.held.set()
    shipped_product.product.until("the first one's summary", lambda: len(shipped_product.incidents.texts) == before + 1)

    def ended() -> bool:
        new = [run for run in shipped_product.skills.runs(runs) if run["id"] not in known]
        return all(run["status"] == "completed" for run in new)

    # What was given back is free again; it is given back after the summary.
    shipped_product.product.until("the end of both", ended)
    shipped_product.skills.engine.send("infra/incident.triage", {**data, "service": "a third"})
    shipped_product.product.until("the next one's summary", lambda: len(shipped_product.incidents.texts) == before + 2)


def test_a_triage_that_fails_tells_ops_and_its_event_is_kept(shipped_product: ShippedProduct) -> None:
    shipped_product.metrics.down = True
    data = {"services": ["checkout"], "service": "checkout", "status": "critical", "reasoning": "down"}
    known = {run["id"] for run in shipped_product.skills.runs(f"skill-{TRIAGE}/incident-triage")}
    shipped_product.skills.engine.send("infra/incident.triage", data)

    told = shipped_product.product.until(
        "the handler's words",
        lambda: next((t for t in shipped_product.ops.texts if "Incident triage failed" in t), ""),
        MOST_SECONDS,
    )
    ours = shipped_product.product.until(
        "the product's own words",
        lambda: next((t for t in shipped_product.ops.texts if t.startswith(f"skill-{TRIAGE}-")), ""),
        60,
    )

    (run,) = [one for one in shipped_product.skills.runs(f"skill-{TRIAGE}/incident-triage") if one["id"] not in known]
    assert f"kept with run {run['id']}" in told
    assert "Services: checkout" in told
    assert run["event"]["data"]["services"] == ["checkout"]
    assert "Prometheus answered 503" in ours
    assert '"services": ["checkout"]' in ours
