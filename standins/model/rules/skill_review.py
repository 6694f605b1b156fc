"""Rule for the verdict `skill_review`: the change that the facts support, with the answers and runs as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The answers to alarms that support each change of sensitivity.
_SHOWN_BY = {"less_sensitive": ("false_alarm", "ignored"), "more_sensitive": ("late",)}
_MOST_EVIDENCE = 5


def skill_review(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change if the facts support one, else `keep`."""
    facts, borne_out = _mapping(told.get("facts")), _mapping(told.get("borne_out"))
    way = str(borne_out.get("sensitivity") or "keep")
    failures = _rows(facts, "repeated_failures") if borne_out.get("unwell") else []
    judged = [row for row in _rows(facts, "judged") if row.get("meaning") in _SHOWN_BY.get(way, ())]
    numbers = _rows(borne_out, "numbers")
    if not failures and not (judged and numbers):
        return _keep(facts)
    evidence = [str(row.get("ref")) for row in judged] or [str(one) for row in failures for one in row["run_ids"]]
    return {
        "decision": "change",
        "summary": _summary(way, facts, failures),
        "sensitivity": way,
        "numbers": [{"constant": str(row.get("constant")), "value": row.get("value")} for row in numbers],
        "words": f"Handle the error that keeps coming: {failures[0].get('error')}" if failures else "",
        "evidence": evidence[:_MOST_EVIDENCE],
        "measure": borne_out.get("measure") or "false_alarm_rate",
        "expected": borne_out.get("expected") or 0.0,
    }


def _keep(facts: Mapping[str, Any]) -> dict[str, Any]:
    said = f"{facts.get('completed')} of {facts.get('ended')} runs went well and the outcomes ask for no change."
    measure = {"measure": "success_rate", "expected": facts.get("success_rate") or 0.0}
    blank: dict[str, Any] = {"numbers": [], "words": "", "evidence": [], "sensitivity": "keep"}
    return {"decision": "keep", "summary": said, **blank, **measure}


def _summary(way: str, facts: Mapping[str, Any], failures: list[Mapping[str, Any]]) -> str:
    match way:
        case "less_sensitive":
            wrong = int(facts.get("false_alarms") or 0) + int(facts.get("ignored") or 0)
            return f"{wrong} of {facts.get('alarms')} alarms were false or ignored: it is too sensitive."
        case "more_sensitive":
            return f"{facts.get('late')} of {facts.get('alarms')} alarms came too late: it is not sensitive enough."
        case _:
            return f"{facts.get('failed')} of {facts.get('ended')} runs failed, most with {failures[0].get('error')}."


def _rows(told: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = told.get(name)
    return [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
