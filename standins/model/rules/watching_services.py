"""Rules for the verdicts of skills that watch services: `health_assessment` and `incident_correlation`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def health_assessment(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Judge the readings by the limits that come with them; without limits everything is normal."""
    services = _mapping(facts.get("services")) or _mapping(facts.get("metrics"))
    degraded = _over(services, _mapping(facts.get("degraded_above")))
    critical = _over(services, _mapping(facts.get("critical_above")))
    status = "critical" if critical else "degraded" if degraded else "normal"
    worst = {**degraded, **critical}
    why = "; ".join(f"{name}: {measure} is {value:g}" for name, (measure, value) in sorted(worst.items()))
    return {"status": status, "services": sorted(worst), "reasoning": why or "every reading is below its limit"}


def incident_correlation(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Suspect the newest deploy of an affected service; without a deploy, suspect load."""
    named = [str(one) for one in facts.get("services") or ()]
    deploys = [row for row in _rows(facts.get("deploys")) if not named or row.get("service") in named]
    severity = "high" if facts.get("status") == "critical" else "medium"
    if not deploys:
        return {
            "cause": "no deploy in sight: rather load, or something that the services depend on",
            "severity": severity,
            "recommendations": ["Look at load and dependencies", "Scale out if the load is real"],
        }
    newest = min(deploys, key=lambda row: float(row.get("minutes_ago") or 0))
    what = f"{newest.get('service')} {newest.get('version')}"
    return {
        "cause": f"{what} was deployed {newest.get('minutes_ago')} minutes ago and the trouble began after it",
        "severity": severity,
        "recommendations": [f"Roll back {what}", "Watch the error rate for ten minutes", "Tell whoever deployed it"],
    }


def _over(services: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, tuple[str, float]]:
    """Return the worst reading of each service that is at or above its limit."""
    found: dict[str, tuple[str, float]] = {}
    for name, readings in services.items():
        for measure, value in _mapping(readings).items():
            limit = limits.get(measure)
            if not isinstance(value, int | float) or not isinstance(limit, int | float) or limit <= 0:
                continue
            if value >= limit and value / limit >= _ratio_to_limit(found.get(name), limits):
                found[str(name)] = (str(measure), float(value))
    return found


def _ratio_to_limit(known: tuple[str, float] | None, limits: Mapping[str, Any]) -> float:
    """Return a reading as a multiple of its limit."""
    return known[1] / float(limits[known[0]]) if known is not None else -math.inf


def _rows(value: object) -> Sequence[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
