"""How far a version may go: every rule in a line."""

from __future__ import annotations

from typing import Any

import pytest

from skills.lifecycle.decision import (
    FailureAftermath,
    LifecycleMove,
    Trial,
    VersionFacts,
    after_failure,
    begins_on_candidate,
    is_stale_base,
    next_move,
    why_refused,
)

AGENT: dict[str, Any] = {"author": "agent", "stage": "checked", "enabled": True, "has_history": True}
TRIED = AGENT | {"dry_run": Trial(3)}
SHADOWED = TRIED | {"shadow": Trial(1)}


@pytest.mark.parametrize(
    ("facts", "move"),
    [
        ({"author": "person", "stage": "checked", "enabled": True}, "activate"),
        ({"author": "person", "stage": "checked", "enabled": True, "has_history": True}, "activate"),
        ({"author": "person", "stage": "checked", "enabled": False}, "hold"),
        ({"author": "shipped", "stage": "checked", "enabled": True}, "activate"),
        ({"author": "person", "stage": "checked", "enabled": True, "missing": ("spend",)}, "ask"),
        ({"author": "person", "stage": "waiting", "enabled": True, "missing": ("spend",)}, "hold"),
        ({"author": "person", "stage": "waiting", "enabled": True}, "activate"),
        (AGENT | {"has_history": False}, "activate"),
        (AGENT | {"has_history": False, "must_ask": True}, "ask"),
        (AGENT | {"stage": "waiting", "must_ask": True}, "hold"),
        (AGENT | {"stage": "waiting", "must_ask": True, "unanswerable": True}, "ask"),
        (AGENT, "dry_run"),
        (AGENT | {"serves": False}, "dry_run"),
        (AGENT | {"serves": False, "dry_run": Trial(2, "it raised")}, "refuse"),
        (AGENT | {"serves": False, "dry_run": Trial(2)}, "activate"),
        (AGENT | {"can_be_tried": False, "must_ask": True}, "ask"),
        (AGENT | {"can_be_tried": False, "stage": "waiting"}, "activate"),
        (AGENT | {"missing": ("host:a",)}, "ask"),
        (AGENT | {"dry_run": Trial(1, "it raised")}, "refuse"),
        (TRIED, "shadow"),
        (TRIED | {"stage": "shadow"}, "hold"),
        (TRIED | {"shadow_runs": 0}, "canary"),
        (TRIED | {"shadow": Trial(1, "it raised")}, "refuse"),
        (SHADOWED, "canary"),
        (SHADOWED | {"stage": "canary", "completed": 2}, "hold"),
        (SHADOWED | {"stage": "canary", "completed": 3}, "activate"),
        (SHADOWED | {"stage": "canary", "completed": 2, "failed": 1}, "refuse"),
        (SHADOWED | {"stage": "canary", "completed": 1, "canary_runs": 1}, "activate"),
    ],
)
def test_next_move(facts: dict[str, Any], move: LifecycleMove) -> None:
    assert next_move(VersionFacts(**facts)) == move


def test_every_refusal_says_why() -> None:
    assert "recorded runs failed: boom" in why_refused(VersionFacts(**AGENT, dry_run=Trial(1, "boom")))
    assert "beside the version" in why_refused(VersionFacts(**TRIED, shadow=Trial(1, "boom")))
    assert why_refused(VersionFacts(**SHADOWED, failed=2)) == "2 of its first runs failed"


@pytest.mark.parametrize(
    ("in_a_row", "restored", "has_previous", "aftermath"),
    [
        (2, False, True, "go_on"),
        (3, False, True, "restore"),
        (3, False, False, "quarantine"),
        (3, True, True, "quarantine"),
        (0, True, False, "go_on"),
    ],
)
def test_failures_in_a_row(in_a_row: int, restored: bool, has_previous: bool, aftermath: FailureAftermath) -> None:
    assert after_failure(in_a_row, 3, restored=restored, has_previous=has_previous) == aftermath


@pytest.mark.parametrize(
    ("stage", "begun", "on_candidate"), [("canary", 0, True), ("canary", 3, False), ("shadow", 0, False)]
)
def test_only_the_first_runs_begin_on_a_candidate(stage: str, begun: int, on_candidate: bool) -> None:
    assert begins_on_candidate(stage, begun, 3) is on_candidate


@pytest.mark.parametrize(
    ("base", "serving", "candidate", "same_author", "stale"),
    [
        (None, None, None, False, False),
        ("a", "a", None, False, False),
        (None, "a", None, False, True),
        ("a", "b", None, False, True),
        ("a", None, None, False, False),
        ("a", "a", "b", False, True),
        ("a", "a", "b", True, False),
        ("b", "a", "b", False, False),
    ],
)
def test_a_change_is_based_on_what_serves(
    base: str | None, serving: str | None, candidate: str | None, same_author: bool, stale: bool
) -> None:
    assert is_stale_base(base, serving_id=serving, candidate_id=candidate, same_author=same_author) is stale
