"""The decision table of a candidate, line by line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.affected import derived_versions
from memory.deciding import (
    CandidateClaim,
    Confirm,
    Known,
    Late,
    New,
    Refine,
    Refuse,
    Replace,
    SetAside,
    Verdict,
    judge_claim,
)
from memory.facts import Evidence, RememberedVersion
from memory.fingerprint import fingerprint

NOW = datetime(2026, 5, 1, tzinfo=UTC)
CLAIM = CandidateClaim("The brand colour is green", "stated", False, "new", NOW, ("msg_1",))
KNOWN = Known("fact_1", "stated", NOW - timedelta(days=30))
GUESS = replace(CLAIM, standing="inferred")
OLD = NOW - timedelta(days=90)


@pytest.mark.parametrize(
    ("claim", "known", "suppressed", "expected"),
    [
        (CLAIM, None, False, New()),
        (CLAIM, KNOWN, False, New()),
        (replace(CLAIM, relation="same"), KNOWN, False, Confirm("fact_1")),
        (CLAIM, replace(KNOWN, same_words=True), False, Confirm("fact_1")),
        (replace(CLAIM, relation="contradicts"), replace(KNOWN, same_words=True), False, Confirm("fact_1")),
        (replace(CLAIM, relation="refines"), KNOWN, False, Refine("fact_1")),
        (replace(CLAIM, relation="contradicts"), KNOWN, False, Replace("fact_1")),
        (replace(CLAIM, relation="contradicts", valid_from=OLD), KNOWN, False, Late("fact_1")),
        (replace(GUESS, relation="contradicts"), KNOWN, False, SetAside("fact_1")),
        (replace(GUESS, relation="refines"), KNOWN, False, SetAside("fact_1")),
        (replace(GUESS, relation="contradicts"), replace(KNOWN, standing="inferred"), False, Replace("fact_1")),
        (replace(CLAIM, relation="contradicts"), replace(KNOWN, standing="inferred"), False, Replace("fact_1")),
    ],
)
def test_the_table(claim: CandidateClaim, known: Known | None, suppressed: bool, expected: Verdict) -> None:
    assert judge_claim(claim, known, suppressed=suppressed) == expected


@pytest.mark.parametrize(
    ("claim", "suppressed", "says"),
    [
        (replace(CLAIM, evidence=()), False, "no message"),
        (replace(CLAIM, temporary=True), False, "this once"),
        (replace(CLAIM, text="This time the title is red"), False, "this once"),
        (replace(CLAIM, text="Red for this poster"), False, "this once"),
        (replace(CLAIM, text="Pour cette affiche, du rouge"), False, "this once"),
        (CLAIM, True, "forgotten"),
    ],
)
def test_what_is_refused_whatever_it_speaks_of(claim: CandidateClaim, suppressed: bool, says: str) -> None:
    for known in (None, KNOWN, replace(KNOWN, same_words=True)):
        verdict = judge_claim(claim, known, suppressed=suppressed)
        assert isinstance(verdict, Refuse)
        assert says in verdict.reason


def test_the_same_statement_has_one_fingerprint_and_only_in_its_scope() -> None:
    one = fingerprint("ws", "workspace", "Our brand colour is green.")

    assert fingerprint("ws", "workspace", "the BRAND colour: green") == one
    assert fingerprint("ws", "workspace", "Our brand colour is not green.") != one
    assert fingerprint("ws", "person:p", "Our brand colour is green.") != one
    assert fingerprint("other", "workspace", "Our brand colour is green.") != one


def _version(n: int, *, late: bool = False) -> RememberedVersion:
    at = NOW + timedelta(minutes=n)
    return RememberedVersion("f", n, f"text {n}", "stated", at, None, at, at if late else None, None)


def _proof(n: int, role: str, message_id: str) -> Evidence:
    return Evidence("f", n, role, "message", message_id, True, NOW)


@pytest.mark.parametrize(
    ("proofs", "gone"),
    [
        ([_proof(1, "origin", "bad"), _proof(2, "refine", "good")], {1, 2}),
        ([_proof(1, "origin", "good"), _proof(2, "refine", "bad"), _proof(3, "refine", "good2")], {2, 3}),
        ([_proof(1, "origin", "bad"), _proof(2, "origin", "good"), _proof(3, "refine", "good2")], {1}),
        ([_proof(1, "origin", "good"), _proof(1, "confirm", "bad")], set()),
    ],
)
def test_a_version_goes_with_the_message_it_rests_on_or_with_the_version_it_refines(
    proofs: list[Evidence], gone: set[int]
) -> None:
    versions = [_version(n) for n in {proof.n for proof in proofs}]

    assert derived_versions(versions, proofs, frozenset({"bad"})) == gone


def test_old_news_that_came_late_is_refined_by_nothing() -> None:
    versions = [_version(1), _version(2, late=True), _version(3)]
    proofs = [_proof(1, "origin", "good"), _proof(2, "origin", "bad"), _proof(3, "refine", "good2")]

    assert derived_versions(versions, proofs, frozenset({"bad"})) == {2}
