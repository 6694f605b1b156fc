"""What doctor says of the programs that check skill files."""

from __future__ import annotations

from app.doctor.finding import Verdict
from app.doctor.skills import judge_checks, look_at_checks


def test_an_installation_brings_them() -> None:
    assert look_at_checks().verdict is Verdict.OK


def test_what_is_missing_is_named() -> None:
    found = judge_checks(["ty"])
    assert found.verdict is Verdict.PROBLEM
    assert "ty not found" in found.words
