"""`loopwright memory` against a served site."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from app.cli import main
from tests.web.site.site import Site
from tests.web.test_memory import remember

Run = Callable[..., str]


@pytest.fixture
def run(site: Site) -> Run:
    def command(*words: str, fails: bool = False) -> str:
        name, *rest = words
        done = CliRunner().invoke(main, ["memory", name, *rest, "--url", site.url, "--token", site.token])
        assert (done.exit_code != 0) == fails, done.output
        return done.output

    return command


def test_what_is_no_command_is_a_question(site: Site, run: Run) -> None:
    remember(site, "Our colour is cobalt")
    remember(site, "Letters are big")

    assert json.loads(run("letters", "--json"))["items"][0]["text"] == "Letters are big"
    assert len(json.loads(run("--json"))["items"]) == 2
    assert "Our colour is cobalt" in run("cobalt")


def test_one_fact_is_shown_corrected_and_asked_to_be_forgotten(site: Site, run: Run) -> None:
    fact_id = remember(site, "Our colour is cobalt")

    assert "version 2: Our colour is navy" in run("correct", fact_id, "Our colour is navy")
    shown = run("show", fact_id)
    assert re.search(r"version 1 .*Our colour is cobalt", shown)
    assert "your correction" in shown
    asked = run("forget", fact_id)
    [card] = site.get("/api/v1/cards", state="open")["items"]
    assert f"loopwright answer {card['id']} confirm" in asked
    assert "Our colour is navy" in asked
    assert len(json.loads(run("export"))["items"]) == 1
    assert "does not answer" in run("reindex")
    assert "Error" in run("show", "fact_made_up", fails=True)
