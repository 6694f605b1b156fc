from __future__ import annotations

import pytest

from app.doctor.finding import Verdict
from app.doctor.services import judge_kind, look_at_engine
from app.supervision.ports import free_ports
from core.settings import load_settings

URL = "http://127.0.0.1:8288"


@pytest.mark.parametrize(
    ("kind", "keyed", "verdict", "advice"),
    [
        ("dev", False, Verdict.OK, "without keys"),
        ("cloud", True, Verdict.OK, "with keys"),
        ("dev", True, Verdict.PROBLEM, f"INNGEST_DEV={URL}"),
        ("cloud", False, Verdict.PROBLEM, "INNGEST_SIGNING_KEY"),
        (None, True, Verdict.OK, "answers"),
    ],
)
def test_a_mismatch_is_named(kind: str | None, keyed: bool, verdict: Verdict, advice: str) -> None:
    found = judge_kind(URL, kind, keyed=keyed)

    assert found.verdict is verdict
    assert advice in found.words


def test_an_engine_that_does_not_answer_is_a_problem() -> None:
    (port,) = free_ports(1)

    found = look_at_engine(load_settings(inngest_dev=f"http://127.0.0.1:{port}"))

    assert found.verdict is Verdict.PROBLEM
    assert "does not answer" in found.words


def test_no_engine_of_ones_own_is_no_problem() -> None:
    assert look_at_engine(load_settings()).verdict is Verdict.NOTE


def test_an_engine_that_only_a_running_product_knows_is_not_taken_for_its_own() -> None:
    found = look_at_engine(load_settings(), running=True)

    assert found.verdict is Verdict.NOTE
    assert "`up --engine` named" in found.words
