"""A skill has a history as long as it is the same skill: across a person's edits, and not across its deletion."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from app.bootstrap import PERSON_ID
from sidecar.rollout.dependencies import RolloutRules
from skills.book import runs, versions
from skills.lifecycle import control, manual_test
from tests.sidecar.local_registry import local_registry
from tests.sidecar.test_skill_lifecycle import announced, fate_of, ran, serving_id
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


@pytest.fixture(scope="module")
def skills(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    rules = RolloutRules(canary_runs=2, shadow_runs=1, failures=2)
    with local_registry(any_engine, tmp_path_factory.mktemp("home"), rules=rules) as running:
        yield running


def test_a_file_that_is_put_back_after_its_skill_was_deleted_serves_again(skills: RunningSidecar) -> None:
    text = hello(1, "back/asked")
    skills.save("back", text)
    skills.live("back", 1)
    with skills.writing() as scope:
        control.delete(scope, "back", PERSON_ID)
    until("its file gone", lambda: not (skills.folder / "back.py").exists(), 30)
    time.sleep(1)
    skills.save("back", text)
    skills.live("back", 1, 20)
    assert (skills.folder / "back.py").read_text() == text


def test_a_skill_that_ran_for_long_has_a_history_though_a_person_saved_it_just_now(skills: RunningSidecar) -> None:
    skills.save("aged", hello(1, "aged/asked"))
    skills.live("aged", 1)
    ran(skills, "aged", 1)
    skills.save("aged", hello(2, "aged/asked"))
    skills.live("aged", 2)
    sha = announced(skills, "aged", hello(3, "aged/asked"), serving_id(skills, "aged"))
    until("the trial", lambda: fate_of(skills, "aged", sha).state == "shadow", 20)
    assert skills.skill("aged")["version"] == 2


def test_no_failure_brings_back_what_served_before_the_skill_was_taken_away(skills: RunningSidecar) -> None:
    for value in (1, 2):
        skills.save("anew", hello(value, "anew/asked"))
        skills.live("anew", value)
    with skills.writing() as scope:
        control.delete(scope, "anew", PERSON_ID)
    until("its file gone", lambda: not (skills.folder / "anew.py").exists(), 30)
    skills.save("anew", hello(3, "anew/asked").replace("lambda: VALUE", "lambda: 1 // 0").replace("=2", "=0"))
    skills.live("anew", 3)
    ran(skills, "anew", 1, "failed")
    ran(skills, "anew", 2, "failed")
    until("the end of its service", lambda: skills.skill("anew")["status"] == "quarantined", 20)
    with skills.reading() as scope:
        assert versions.get_version_by_number(scope, "anew", 3).stage == "quarantined"


def test_what_was_taken_out_can_be_tried_to_see_why(skills: RunningSidecar) -> None:
    failing = hello(1, "out/asked").replace("lambda: VALUE", "lambda: 1 // 0").replace("=2", "=0")
    skills.save("out", failing)
    skills.live("out", 1)
    ran(skills, "out", 1, "failed")
    ran(skills, "out", 2, "failed")
    until("the end of its service", lambda: skills.skill("out")["status"] == "quarantined", 20)
    with skills.writing() as scope:
        version = versions.get_version_by_number(scope, "out", 1)
        manual_test.request_test(
            scope, version, cause="call_1", function_id="hello", event={"name": "out/asked", "data": {}}
        )

    def answer() -> str:
        with skills.reading() as scope:
            test = manual_test.read_test(versions.get_version_by_number(scope, "out", 1))
        return test.trial.failed if test is not None and test.trial is not None else ""

    assert "ZeroDivisionError" in until("the answer", answer, 20)


def test_a_repair_of_what_was_taken_out_is_tried_on_what_ran_before(skills: RunningSidecar) -> None:
    # Given a skill that ran well, then failed until it was taken out with nothing to go back to
    text = hello(1, "repaired/asked").replace("lambda: VALUE", "lambda: 6 // ctx.event.data['by']").replace("=2", "=0")
    skills.save("repaired", text)
    skills.live("repaired", 1)
    skills.ask("repaired/asked", by=2)
    assert skills.outputs("skill-repaired/hello", 1) == [3]
    for failures in (1, 2):
        skills.ask("repaired/asked", by=0)
        until("a failure", lambda n=failures: len(failed(skills, "repaired")) >= n, 30)  # type: ignore[misc]
    until("the end of its service", lambda: skills.skill("repaired")["status"] == "quarantined", 20)
    # When the agent writes one that cannot do what went well, then that never serves
    last = skills.skill("repaired")["version"]
    with skills.reading() as scope:
        base = versions.get_version_by_number(scope, "repaired", last).id
    bad = announced(skills, "repaired", text.replace("'by'", "'times'"), base)
    until("the refusal", lambda: fate_of(skills, "repaired", bad).state == "refused", 30)
    assert "dry run" in skills.skill("repaired")["problems"][0]["reason"]
    # And one that can is live
    announced(skills, "repaired", text.replace("ctx.event.data['by']", "(ctx.event.data['by'] or 1)"), base, "call_2")
    skills.live("repaired", 3)


def failed(skills: RunningSidecar, stem: str) -> list[object]:
    with skills.reading() as scope:
        return [run for run in runs.list_skill_runs(scope, stem) if run.status == "failed"]


def test_an_agent_that_renames_the_only_function_asks_and_is_then_live(skills: RunningSidecar) -> None:
    skills.save("renamed", hello(1, "renamed/asked"))
    skills.live("renamed", 1)
    ran(skills, "renamed", 1)
    text = hello(2, "renamed/asked").replace('fn_id="hello"', 'fn_id="welcome"')
    announced(skills, "renamed", text, serving_id(skills, "renamed"))
    skills.answer("renamed", "grant")
    skills.live("renamed", 2)
    skills.ask("renamed/asked")
    assert skills.outputs("skill-renamed/welcome", 1) == [2]
