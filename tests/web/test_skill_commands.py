"""`loopwright skills` against a served site: what the page shows and does, on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from app.cli import main
from runtime.inbox import messages
from skills.book import runs, skill
from skills.format.problem import SkillProblem
from tests.web.site.site import Site
from tests.web.test_skills import STEM, save

Run = Callable[..., str]


@pytest.fixture
def run(site: Site) -> Run:
    def command(*words: str, fails: bool = False) -> str:
        name, *rest = words
        done = CliRunner().invoke(main, ["skills", name, *rest, "--url", site.url, "--token", site.token])
        assert (done.exit_code != 0) == fails, done.output
        return done.output

    return command


def lived(site: Site) -> None:
    """Three versions, and runs of the last one."""
    save(site, "def look():\n    return 1\n")
    save(site, "def look():\n    return 2\n")
    version = save(site, "def look():\n    return 3\n", hosts=("prices.example:443",))
    with site.writing() as scope:
        for n, status in enumerate(("completed", "completed", "completed", "failed")):
            named = {"skill_id": STEM, "function_id": "look", "version_id": version.id, "stage": "live", "event": {}}
            runs.record_run_start(scope, run_id=f"run{n}", **named)  # type: ignore[arg-type] # all are what they should be
            runs.record_run_end(scope, f"run{n}", status, attempts=1)  # type: ignore[arg-type] # both are ends


def test_a_skill_is_shown_with_all_that_its_page_has(site: Site, run: Run) -> None:
    lived(site)

    shown, told = run("show", STEM), json.loads(run("show", STEM, "--json"))

    # Who wrote it and why, how far each version came, what it may, how its days were
    assert re.search(r"^3 +active +the agent .*prices move$", shown, re.MULTILINE)
    assert re.search(r"^1 +superseded +the agent", shown, re.MULTILINE)
    assert "may   reach prices.example:443 (not granted)" in shown
    assert "75% went well" in shown
    assert re.search(r"^\d{4}-\d\d-\d\d +3 +1 +0$", shown, re.MULTILINE)
    # Next times as the clock on the wall shows them, and no `T…Z` of UTC
    assert len(re.findall(r"^next  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", shown, re.MULTILINE)) == 3
    assert told["success_rate"] == 0.75
    assert told["timezone"] == "UTC"
    assert (len(told["days"]), told["days"][-1]["failed"]) == (14, 1)
    assert [one["version"] for one in told["versions"]] == [3, 2, 1]
    assert run("show", STEM, "--source") == "def look():\n    return 3\n"


def test_any_two_versions_are_compared(site: Site, run: Run) -> None:
    lived(site)

    assert "-    return 2\n+    return 3" in run("diff", STEM)
    assert "-    return 1\n+    return 3" in run("diff", STEM, "3", "--against", "1")
    body = json.loads(run("diff", STEM, "1", "--against", "3", "--json"))
    assert (body["against"], "+    return 1" in body["diff"], "source" in body) == (3, True, False)
    assert "no version 9" in run("diff", STEM, "3", "--against", "9", fails=True)
    assert [one["version"] for one in json.loads(run("versions", STEM, "--json"))["items"]] == [3, 2, 1]
    assert "What changed from version 1 to version 3" in site.client.get(f"/skills/{STEM}?version=3&against=1").text


def test_the_agent_is_asked_to_change_or_to_repair_it(site: Site, run: Run) -> None:
    save(site, "LIMIT = 1\n")

    def said(message_id: str) -> str:
        with site.writing() as scope:
            return messages.get_message(scope, message_id).text

    assert "say what should change" in run("ask", STEM, fails=True)
    assert said(run("ask", STEM, "alarm less").strip()) == f"The skill {STEM}: alarm less"
    with site.writing() as scope:
        skill.reject_save(scope, skill.lock_skill(scope, STEM), "f" * 64, (SkillProblem(3, "no MANIFEST", "add one"),))
    assert f"`loopwright skills ask {STEM}` asks the agent" in run("show", STEM)
    body = json.loads(run("ask", STEM, "--json"))
    assert said(body["message_id"]) == f"The skill {STEM} has a problem: no MANIFEST. Please fix it."


def test_moves_answer_in_words_and_in_json(site: Site, run: Run) -> None:
    lived(site)

    assert run("rollback", STEM) == f"{STEM} is active, version 2\n"
    assert json.loads(run("rollback", STEM, "--to", "1", "--json"))["version"] == 1
    assert "rolled back" in site.client.get(f"/skills/{STEM}").text
    assert "is disabled" in run("disable", STEM)
    assert json.loads(run("enable", STEM, "--json"))["status"] == "active"


def test_what_came_of_an_alarm_and_a_deletion_answer_in_words_and_in_json(site: Site, run: Run) -> None:
    lived(site)

    assert run("tell", STEM, "missed") == f"{STEM}: missed\n"
    body = json.loads(run("tell", STEM, "false alarm", "--run", "run0", "--json"))
    assert (body["skill_id"], body["value"]) == (STEM, "false alarm")
    assert json.loads(run("delete", STEM, "--yes", "--json"))["status"] == "retired"


def test_no_wish_is_cut_short_while_it_is_typed(site: Site, run: Run) -> None:
    lived(site)

    assert "maxlength" not in site.client.get(f"/skills/{STEM}").text
    assert "20000" in run("ask", STEM, "x" * 20_001, fails=True)
