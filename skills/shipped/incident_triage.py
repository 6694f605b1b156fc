"""Finds out what is behind an incident and posts a summary with recommended actions, one triage a service at a time."""

import math
from collections.abc import Mapping, Sequence

import inngest

from skills.kit import Refused, Unavailable, claim, client, http, llm, notify, release

MANIFEST = {
    "title": "Incident triage",
    "purpose": "Reads detailed metrics and recent deploys of the services that are not well, correlates them, posts "
    "a summary with recommended actions and asks whether the incident was real.",
    "permissions": {
        "hosts": ["127.0.0.1:9090"],
        "events": {"listen": ["infra/incident.triage"], "send": []},
        "notify": ["incidents", "ops"],
        "model_budget_per_day": "0.50",
    },
}

METRICS = "http://127.0.0.1:9090"
DETAILS = {
    "requests_per_second": "sum by (service) (rate(http_requests_total[5m]))",
    "errors_by_route": 'topk(5, sum by (service, route) (rate(http_requests_total{status=~"5.."}[5m])))',
    "latency_p99_seconds": "histogram_quantile(0.99,"
    " sum by (service, le) (rate(http_request_duration_seconds_bucket[5m])))",
    "restarts": "sum by (service) (increase(kube_pod_container_status_restarts_total[2h]))",
}
# One row a service and version, its value the seconds since that version was deployed.
DEPLOYS = "min by (service, version) (time() - deployed_at_seconds) < 7200"
FEEDBACK = ("real", "real but too late", "false alarm")
MINUTES = 60
CORRELATION = {
    "type": "object",
    "properties": {
        "cause": {"type": "string"},
        "severity": {"type": "string", "enum": ["low", "medium", "high"]},
        "recommendations": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["cause", "severity", "recommendations"],
    "additionalProperties": False,
}


def ask(query: str, services: Sequence[str]) -> list[dict[str, object]]:
    """Prometheus's rows on these services, as their labels with a `value`."""
    answer = http.get(f"{METRICS}/api/v1/query", params={"query": query}, timeout=10)
    if answer.status != 200:
        raise Unavailable(f"Prometheus answered {answer.status}")
    found: list[dict[str, object]] = []
    for row in answer.json()["data"]["result"]:
        value = float(row["value"][1])
        if row["metric"].get("service") in services and math.isfinite(value):
            labels = {str(name): str(said) for name, said in row["metric"].items() if name != "__name__"}
            found.append({**labels, "value": round(value, 6)})
    return found


def read_details(services: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    return {name: ask(query, services) for name, query in DETAILS.items()}


def read_deploys(services: Sequence[str]) -> list[dict[str, object]]:
    """Deploys of the last two hours, the newest first."""
    rows = [
        {
            "service": row["service"],
            "version": row.get("version", ""),
            "minutes_ago": round(float(str(row["value"])) / 60),
        }
        for row in ask(DEPLOYS, services)
    ]
    return sorted(rows, key=lambda row: int(str(row["minutes_ago"])))


def correlate(status: str, facts: Mapping[str, object], deploys: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The model's correlation; the newest deploy is suspected when it fails."""
    try:
        said = llm(
            "Correlate these readings with the recent deploys. Name the likely cause, how severe it is, and what the "
            "people on call should do, most useful first.",
            name="incident_correlation",
            schema=CORRELATION,
            facts=facts,
        )
    except (Refused, Unavailable):
        return by_rules(status, deploys)
    advice = [str(one)[:300] for one in said["recommendations"][:5]]
    return {"cause": said["cause"][:1000], "severity": said["severity"], "recommendations": advice, "by": "model"}


def by_rules(status: str, deploys: Sequence[Mapping[str, object]]) -> dict[str, object]:
    severity = "high" if status == "critical" else "medium"
    if deploys:
        newest = deploys[0]
        what = f"{newest['service']} {newest['version']}".strip()
        cause = f"{what} was deployed {newest['minutes_ago']} minutes ago, shortly before"
        advice = [f"Compare with the version before {what} and roll back if that one was well"]
    else:
        cause = "no deploy in the last two hours: load or something it depends on"
        advice = ["Compare load and dependencies with the same hour of yesterday"]
    return {"cause": cause, "severity": severity, "recommendations": advice, "by": "rules"}


def summary(services: Sequence[str], status: str, reasoning: str, found: Mapping[str, object]) -> str:
    advice = found["recommendations"]
    lines = [f"• {one}" for one in advice] if isinstance(advice, list) else []
    head = f"Incident ({status}, {found['severity']}): {', '.join(services)}"
    return "\n".join([head, reasoning, f"Likely cause: {found['cause']}", "Recommended:", *lines])


def data_of(event: object) -> Mapping[str, object]:
    data = event.get("data") if isinstance(event, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def services_of(data: Mapping[str, object]) -> list[str]:
    listed = data.get("services")
    named = listed if isinstance(listed, list) else [data.get("service")]
    return sorted({str(name)[:100] for name in named if name})[:20]


def triage_failed(ctx: inngest.ContextSync) -> None:
    """All attempts are used up: the ops channel hears of it, with the event, which is kept with the run."""
    data = data_of(ctx.event.data.get("event"))
    error = ctx.event.data.get("error")
    reason = error.get("message") if isinstance(error, Mapping) else None
    services = ", ".join(services_of(data)) or "not said"
    text = (
        f"Incident triage failed: {reason}. Services: {services}. The event is kept with run "
        f"{ctx.event.data.get('run_id')}; the next health check triages again."
    )
    ctx.step.run("notify-failure", lambda: notify("ops", text))


@client.create_function(
    fn_id="incident-triage",
    trigger=inngest.TriggerEvent(event="infra/incident.triage"),
    retries=3,
    # A brake that spares a second triage its steps; what keeps two apart is the claimed row.
    concurrency=[inngest.Concurrency(limit=1, key="event.data.service")],
    on_failure=triage_failed,
)
def incident_triage(ctx: inngest.ContextSync) -> dict[str, object]:
    data = ctx.event.data
    status, reasoning = str(data.get("status") or "degraded")[:20], str(data.get("reasoning") or "")[:1000]
    services = ctx.step.run("claim-services", lambda: [one for one in services_of(data) if claim(one, minutes=MINUTES)])
    if not services:
        return {"skipped": "another triage of these services is under way, or none was named"}
    details = ctx.step.run("fetch-detailed-metrics", lambda: read_details(services))
    try:
        deploys = ctx.step.run("fetch-deploy-history", lambda: read_deploys(services))
    except inngest.StepError:
        # A triage that does not know the deploys is better than none.
        deploys = []
    facts = {"services": services, "status": status, "readings": data.get("metrics"), "details": details}
    found = ctx.step.run("correlate-incident", lambda: correlate(status, {**facts, "deploys": deploys}, deploys))
    text = summary(services, status, reasoning, found)
    ctx.step.run("post-triage-summary", lambda: notify("incidents", text, ask=FEEDBACK))
    ctx.step.run("release-services", lambda: [release(one) for one in services])
    return {**found, "services": services, "measured": data.get("measured")}
