"""The shapes of a skill version's trials: the runs, the version compared with, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import TypedDict

from core.database import Scope
from skills.book.versions import CheckedVersion
from skills.lifecycle import promotion


class TrialShape(TypedDict):
    """`how` is `dry_run` (on recorded runs) or `shadow` (on runs that ended meanwhile), both of the version `against`
    with effects faked, or `canary`: first runs of its own, compared with nothing.

    `runs` counts the runs so far, of the `of` that it needs, and `silent` those that showed nothing. `failed` says how
    one failed, and `differences` what it did differently. `words` sum it all up, without the differences.
    """

    how: str
    against: int | None
    runs: int
    of: int | None
    silent: int
    failed: str | None
    differences: list[str]
    words: str


def trial_shapes(scope: Scope, version: CheckedVersion) -> list[TrialShape]:
    """Return the trials in order; none for a version that served without."""
    return list(_trials(scope, version))


def _trials(scope: Scope, version: CheckedVersion) -> Iterator[TrialShape]:
    facts = version.stage_facts
    if (dry := facts.get("dry_run")) is not None:
        words = (
            f"dry run on {_run_count(int(dry['runs']), 'recorded')} of {_version(dry)}, effects faked: {_result(dry)}"
        )
        yield _shape("dry_run", dry, words)
    elif version.stage == "dry_run":
        yield _shape("dry_run", {}, "dry run on recorded runs, effects faked: under way")
    if (shadow := facts.get("shadow")) is not None:
        yield _shape(
            "shadow", shadow, f"shadow beside {_version(shadow)}, effects faked: {_shadow_result(version, shadow)}"
        )
    if (canary := facts.get("canary")) is not None:
        counted = promotion.count_first_runs(scope, version)
        went_well, failed = counted.get("completed", 0), counted.get("failed", 0)
        known = {**canary, "runs": went_well, "failed": f"{_run_count(failed, 'first')} failed" if failed else ""}
        words = f"first runs of its own: {went_well} of {canary['of']} went well"
        yield _shape("canary", known, f"{words}, {failed} failed" if failed else words)


def _shadow_result(version: CheckedVersion, shadow: Mapping[str, Any]) -> str:
    waits = version.stage == "shadow" and not shadow["failed"] and not shadow["runs"]
    return "it waits for the next run that ends" if waits else _result(shadow)


def _result(known: Mapping[str, Any]) -> str:
    """Return how the trial's runs went."""
    count, silent = int(known["runs"]), int(known.get("silent", 0))
    if known["failed"]:
        return str(known["failed"])
    if not count:
        return "there was none"
    if not silent:
        return f"{count} went well"
    return f"{count - silent} went well, {silent} showed nothing"


def _shape(how: str, known: Mapping[str, Any], words: str) -> TrialShape:
    return {
        "how": how,
        "against": known.get("against"),
        "runs": int(known.get("runs", 0)),
        "of": known.get("of"),
        "silent": int(known.get("silent", 0)),
        "failed": known.get("failed") or None,
        "differences": [str(one) for one in known.get("differences") or ()],
        "words": words,
    }


def _version(known: Mapping[str, Any]) -> str:
    return f"version {known['against']}" if known.get("against") else "the version that served"


def _run_count(count: int, kind: str = "") -> str:
    return " ".join(filter(None, [str(count), kind, "run" if count == 1 else "runs"]))
