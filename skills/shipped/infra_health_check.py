"""Looks at the services' metrics every half hour and has an incident triaged when something has become wrong."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypedDict

import inngest

from skills.kit import Refused, Unavailable, client, http, llm, notify, runs

MANIFEST = {
    "title": "Infrastructure health check",
    "purpose": "Reads error rates, latency and resource use from Prometheus every 30 minutes, has them classified as "
    "normal, degraded or critical, and starts the triage of what has become worse, or stays bad for a day.",
    "permissions": {
        "hosts": ["127.0.0.1:9090"],
        "invoke": ["skill-incident_triage/incident-triage"],
        "notify": ["ops"],
        "model_budget_per_day": "0.50",
    },
}

METRICS = "http://127.0.0.1:9090"
QUERIES = {
    "error_rate": 'sum by (service) (rate(http_requests_total{status=~"5.."}[5m]))'
    " / sum by (service) (rate(http_requests_total[5m]))",
    "latency_p95_seconds": "histogram_quantile(0.95,"
    " sum by (service, le) (rate(http_request_duration_seconds_bucket[5m])))",
    "cpu_used": "max by (service) (rate(container_cpu_usage_seconds_total[5m]))",
    "memory_used": "max by (service) (container_memory_working_set_bytes / container_spec_memory_limit_bytes)",
}
DEGRADED_ABOVE = {"error_rate": 0.02, "latency_p95_seconds": 0.8, "cpu_used": 0.85, "memory_used": 0.85}
CRITICAL_ABOVE = {"error_rate": 0.10, "latency_p95_seconds": 3.0, "cpu_used": 0.97, "memory_used": 0.97}
# The review moves this number: the limits above are divided by it, so a higher one alarms sooner.
SENSITIVITY = 1.0

# While nothing gets worse, people are not told again before this is over.
QUIET = timedelta(hours=24)
PAUSE = timedelta(minutes=5)
ROUNDS = 3
ASSESSMENT = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["normal", "degraded", "critical"]},
        "services": {"type": "array", "items": {"type": "string"}},
        "reasoning": {"type": "string"},
    },
    "required": ["status", "services", "reasoning"],
    "additionalProperties": False,
}


class Assessment(TypedDict):
    """`by` tells who classified: `model` or `rules`."""

    status: str
    services: list[str]
    reasoning: str
    by: str


class Told(TypedDict):
    """What people were told last, and when, in ISO 8601."""

    status: str
    services: list[str]
    at: str


class Past(TypedDict):
    """`told` is None when all was well since; `now` is the time by the clock that dates runs."""

    told: Told | None
    now: str


def look_back() -> Past:
    """What an earlier run told: each hands it on to the next in its output."""
    known = runs(100)
    now = max((run.began_at for run in known), default=datetime.now(UTC)).isoformat()
    for run in known:
        if run.status == "completed" and isinstance(run.output, Mapping) and "told" in run.output:
            return {"told": run.output["told"], "now": now}
    return {"told": None, "now": now}


def is_news(found: Assessment, past: Past) -> bool:
    """Whether it is worse than what was told, in degree or by a service more, or was told long ago."""
    told = past["told"]
    if told is None or set(found["services"]) - set(told["services"]):
        return True
    if found["status"] == "critical" and told["status"] != "critical":
        return True
    return datetime.fromisoformat(past["now"]) - datetime.fromisoformat(told["at"]) >= QUIET


def limits(of: Mapping[str, float]) -> dict[str, float]:
    return {measure: round(limit / SENSITIVITY, 6) for measure, limit in of.items()}


def read_metrics() -> dict[str, dict[str, float]]:
    """The readings by service and measure; raises when Prometheus does not answer or names no service."""
    found: dict[str, dict[str, float]] = {}
    for measure, query in QUERIES.items():
        answer = http.get(f"{METRICS}/api/v1/query", params={"query": query}, timeout=10)
        if answer.status != 200:
            raise Unavailable(f"Prometheus answered {answer.status}")
        for row in answer.json()["data"]["result"]:
            value = float(row["value"][1])
            if math.isfinite(value) and row["metric"].get("service"):
                found.setdefault(str(row["metric"]["service"]), {})[measure] = value
    if not found:
        raise Unavailable("Prometheus names no service: see QUERIES")
    return found


def pressure(readings: Mapping[str, float]) -> float:
    """How near the worst reading is to its limit before SENSITIVITY: 1 is at the limit."""
    shares = [value / DEGRADED_ABOVE[measure] for measure, value in readings.items() if measure in DEGRADED_ABOVE]
    return max(shares, default=0.0)


def by_rules(metrics: Mapping[str, Mapping[str, float]]) -> Assessment:
    """The classification without a model."""
    degraded, critical = limits(DEGRADED_ABOVE), limits(CRITICAL_ABOVE)
    over = [name for name, read in metrics.items() if any(v >= degraded.get(m, math.inf) for m, v in read.items())]
    worse = [name for name in over if any(v >= critical.get(m, math.inf) for m, v in metrics[name].items())]
    status = "critical" if worse else "degraded" if over else "normal"
    return {"status": status, "services": sorted(over), "reasoning": "by the limits alone", "by": "rules"}


def assess(metrics: Mapping[str, Mapping[str, float]]) -> Assessment:
    """The model's classification; by rules when it fails, or names nothing that was measured."""
    facts = {"services": metrics, "degraded_above": limits(DEGRADED_ABOVE), "critical_above": limits(CRITICAL_ABOVE)}
    try:
        said = llm(
            "Classify the state of these services as normal, degraded or critical by their readings and the limits, "
            "and name the services that are not normal. Explain in one or two sentences.",
            name="health_assessment",
            schema=ASSESSMENT,
            facts=facts,
        )
    except (Refused, Unavailable):
        return by_rules(metrics)
    services = sorted({name for name in said["services"] if name in metrics})
    if said["status"] != "normal" and not services:
        return by_rules(metrics)
    return {"status": said["status"], "services": services, "reasoning": said["reasoning"][:1000], "by": "model"}


def tell_ops(ctx: inngest.ContextSync) -> None:
    """Nobody looks at the services while this fails, so the ops channel hears of it."""
    error = ctx.event.data.get("error")
    reason = error.get("message") if isinstance(error, Mapping) else None
    ctx.step.run(
        "notify-failure",
        lambda: notify(
            "ops", f"The health check could not look at the services: {reason}. It tries again at its hour."
        ),
    )


@client.create_function(
    fn_id="infra-health-check",
    trigger=inngest.TriggerCron(cron="*/30 * * * *"),
    retries=3,
    on_failure=tell_ops,
)
def infra_health_check(ctx: inngest.ContextSync) -> dict[str, object]:
    metrics = wait_for_metrics(ctx)
    found = ctx.step.run("assess-health", lambda: assess(metrics))
    past = ctx.step.run("look-back", look_back)
    told = past["told"]
    if found["status"] == "normal":
        if told is not None:
            text = f"Back to normal: {', '.join(told['services'])}"
            ctx.step.run("tell-recovery", lambda: notify("ops", text))
        return {**found, "measured": worst(metrics), "told": None}
    services = found["services"]
    measured = max(round(pressure(metrics[name]), 4) for name in services)
    if not is_news(found, past):
        return {**found, "measured": measured, "told": told}
    data = {
        "service": ",".join(services),
        "services": services,
        "status": found["status"],
        "reasoning": found["reasoning"],
        "metrics": {name: metrics[name] for name in services},
        "measured": measured,
    }
    try:
        triage = ctx.step.invoke_by_id(
            "triage-incident",
            app_id="skill-incident_triage",
            function_id="incident-triage",
            data=data,
            timeout=timedelta(hours=1),
        )
    except inngest.StepError as error:
        # Its own failure handler has told the ops channel; the next look triages again.
        return {**found, "measured": measured, "triage": {"failed": str(error)[:300]}, "told": told}
    now_told = {"status": found["status"], "services": services, "at": past["now"]}
    return {**found, "measured": measured, "triage": triage, "told": now_told}


def wait_for_metrics(ctx: inngest.ContextSync) -> dict[str, dict[str, float]]:
    """The readings; while the metrics are down it waits and asks again, then the run fails."""
    for _ in range(ROUNDS):
        try:
            return ctx.step.run("read-metrics", read_metrics)
        except inngest.StepError:
            ctx.step.sleep("wait-for-metrics", PAUSE)
    return ctx.step.run("read-metrics-again", read_metrics)


def worst(metrics: Mapping[str, Mapping[str, float]]) -> float:
    return max(round(pressure(readings), 4) for readings in metrics.values())
