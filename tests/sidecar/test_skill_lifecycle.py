"""What happens to a skill between its file and its runs: permissions, trials, failures, and a person's moves."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator

import pytest

from app.bootstrap import PERSON_ID
from core.orchestrator.engine import Engine
from runtime import notices
from sidecar.rollout.dependencies import RolloutRules
from skills.book import drafts, refusals, runs, skill, versions
from skills.book.invoke_event import invoke_event_name
from skills.lifecycle import control, save_status
from skills.lifecycle.save_status import SaveStatus
from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


@pytest.fixture(scope="module")
def skills(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    """Two failures are too many, and two good runs are enough."""
    rules = RolloutRules(canary_runs=2, shadow_runs=1, failures=2)
    with local_registry(any_engine, tmp_path_factory.mktemp("home"), rules=rules) as running:
        yield running


def announced(skills: RunningSidecar, stem: str, text: str, base_id: str | None, ref: str = "call_1") -> str:
    """The agent saves a file as its tool does; answers the hash."""
    sha = hashlib.sha256(text.encode()).hexdigest()
    with skills.writing() as scope:
        drafts.announce_save(
            scope, skill_id=stem, sha=sha, author="agent", author_ref=ref, reason="to try", base_id=base_id, per_day=50
        )
    skills.save(stem, text)
    return sha


def fate_of(skills: RunningSidecar, stem: str, sha: str) -> SaveStatus:
    with skills.reading() as scope:
        return save_status.read_save_status(scope, stem, sha)


def serving_id(skills: RunningSidecar, stem: str) -> str | None:
    with skills.reading() as scope:
        return skill.get_skill(scope, stem).version_id


def ran(skills: RunningSidecar, stem: str, count: int, status: str = "completed") -> None:
    """Ask it once more, and wait until so many runs of it have ended so."""
    skills.ask(f"{stem}/asked")

    def enough() -> bool:
        with skills.reading() as scope:
            return sum(run.status == status for run in runs.list_skill_runs(scope, stem, 100)) >= count

    until(f"{count} runs of {stem} {status}", enough, 60)


def test_a_first_version_waits_for_what_it_asks_and_later_ones_ask_for_what_is_new(skills: RunningSidecar) -> None:
    text = hello(1, "asks/asked").replace('"permissions": {', '"permissions": {"hosts": ["a.example:1"], ')
    skills.save("asks", text)
    until("it waits", lambda: skills.skill("asks").get("status") == "waiting", 60)
    skills.ask("asks/asked")
    assert skills.answer("asks", "grant")["permissions"] == ["host:a.example:1"]
    assert skills.live("asks", 1)["granted"] == ["host:a.example:1"]
    assert skills.runs("skill-asks/hello") == []
    # Nothing new, so nobody is asked.
    skills.save("asks", text.replace("VALUE = 1", "VALUE = 2"))
    skills.live("asks", 2)
    # Something new: the old one goes on while a person thinks, and after a refusal.
    more = text.replace('"hosts": [', '"spend": True, "hosts": [').replace("VALUE = 1", "VALUE = 3")
    skills.save("asks", more)
    assert skills.answer("asks", "refuse")["permissions"] == ["spend"]
    refused = until("the refusal", lambda: skills.skill("asks")["problems"], 60)
    assert "a person refused" in refused[0]["reason"]
    assert (skills.skill("asks")["status"], skills.skill("asks")["version"]) == ("active", 2)
    ran(skills, "asks", 1)
    assert skills.outputs("skill-asks/hello", 1) == [2]


def test_an_agents_change_is_tried_before_it_serves(skills: RunningSidecar) -> None:
    first = announced(skills, "tried", hello(1, "tried/asked"), None)
    # It has no history to be tried on.
    assert skills.live("tried", 1)["hash"] == first
    ran(skills, "tried", 1)
    second = announced(skills, "tried", hello(2, "tried/asked"), serving_id(skills, "tried"))
    until("its shadow", lambda: fate_of(skills, "tried", second).state == "shadow", 60)
    assert skills.skill("tried")["candidate"] == {"version": 2, "stage": "shadow"}
    with skills.reading() as scope:
        candidate = versions.find_version_by_sha(scope, "tried", second)
        assert candidate is not None
        assert candidate.stage_facts["dry_run"]["runs"] == 1
        assert any("it returns 2 instead of 1" in one for one in candidate.stage_facts["dry_run"]["differences"]), (
            candidate.stage_facts
        )
    ran(skills, "tried", 2)
    until("its first runs", lambda: fate_of(skills, "tried", second).state == "canary", 60)
    assert skills.skill("tried")["version"] == 1
    ran(skills, "tried", 3)
    assert skills.skill("tried")["version"] == 1
    ran(skills, "tried", 4)
    skills.live("tried", 2)
    with skills.reading() as scope:
        shown = [(run.stage, run.output) for run in reversed(runs.list_skill_runs(scope, "tried"))]
        told = [one.text for one in notices.list_newest_notices(scope) if one.audience == "ops"]
    assert shown == [("live", 1), ("live", 1), ("canary", 2), ("canary", 2)]
    # The change is told once: the first version took nobody's place.
    (said,) = told
    assert said.startswith("tried: version 2, which the agent wrote, serves in place of version 1; ")


def test_a_change_that_fails_its_trial_never_serves(skills: RunningSidecar) -> None:
    announced(skills, "careful", hello(1, "careful/asked"), None)
    skills.live("careful", 1)
    ran(skills, "careful", 1)
    broken = hello(2, "careful/asked").replace("lambda: VALUE", "lambda: 1 // 0")
    bad = announced(skills, "careful", broken, serving_id(skills, "careful"))
    refused = until("the refusal", lambda: skills.skill("careful")["problems"], 60)
    assert "the dry run on recorded runs failed" in refused[0]["reason"]
    assert fate_of(skills, "careful", bad).state == "refused"

    # This one behaves in rehearsals, in which nothing is waited for, and fails for real.
    pause = (
        "    began = ctx.step.run('began', time.time)\n    ctx.step.sleep('pause', 6000)\n"
        "    quick = ctx.step.run('quick', lambda: int(time.time() - began < 5))\n    return"
    )
    text = hello(3, "careful/asked").replace("VALUE)", "1 // quick)").replace("    return", pause)
    text = text.replace("import inngest", "import time\nimport inngest")
    late = announced(skills, "careful", text.replace("=2", "=0"), serving_id(skills, "careful"))
    until("its shadow", lambda: fate_of(skills, "careful", late).state == "shadow", 60)
    ran(skills, "careful", 2)
    until("its first runs", lambda: fate_of(skills, "careful", late).state == "canary", 60)
    ran(skills, "careful", 1, "failed")
    until("the refusal", lambda: fate_of(skills, "careful", late).state == "refused", 60)
    assert "of its first runs failed" in skills.skill("careful")["problems"][0]["reason"]
    ran(skills, "careful", 3)
    assert (skills.skill("careful")["status"], skills.skill("careful")["version"]) == ("active", 1)


@pytest.mark.boundary(62)
def test_repeated_failures_restore_the_previous_version_once(skills: RunningSidecar) -> None:
    skills.save("fails", hello(1, "fails/asked"))
    good = skills.live("fails", 1)["hash"]
    ran(skills, "fails", 1)
    skills.save("fails", hello(2, "fails/asked").replace("lambda: VALUE", "lambda: 1 // 0").replace("=2", "=0"))
    skills.live("fails", 2)
    ran(skills, "fails", 1, "failed")
    assert skills.skill("fails")["version"] == 2
    ran(skills, "fails", 2, "failed")
    assert skills.live("fails", 1)["hash"] == good
    assert "failed 2 times in a row" in skills.skill("fails")["problems"][0]["reason"]
    with skills.reading() as scope:
        assert versions.get_version_by_number(scope, "fails", 2).stage == "quarantined"
        told = [one.text for one in notices.list_newest_notices(scope) if one.audience == "ops"]
    assert any("fails: version 2 failed 2 times" in text for text in told)
    ran(skills, "fails", 2)
    # The file still holds what failed: another look at it changes nothing, another content does.
    (skills.folder / "fails.py").touch()
    time.sleep(0.5)
    assert skills.skill("fails")["version"] == 1
    skills.save("fails", hello(3, "fails/asked"))
    assert skills.live("fails", 3)["problems"] == []


@pytest.mark.boundary(63)
def test_of_two_changes_of_one_version_one_wins(skills: RunningSidecar) -> None:
    announced(skills, "raced", hello(1, "raced/asked"), None)
    skills.live("raced", 1)
    base = serving_id(skills, "raced")
    announced(skills, "raced", hello(2, "raced/asked"), base, "review_1")
    skills.live("raced", 2)
    lost = announced(skills, "raced", hello(3, "raced/asked"), base, "review_2")
    problems = until("the refusal", lambda: skills.skill("raced")["problems"], 60)
    assert problems[0]["reason"] == "this change is based on version 1, but version 2 serves now"
    assert fate_of(skills, "raced", lost).state == "refused"
    assert skills.skill("raced")["version"] == 2
    won = announced(skills, "raced", hello(4, "raced/asked"), serving_id(skills, "raced"), "review_2")
    until("the newer change serves", lambda: fate_of(skills, "raced", won).state == "active", 60)


@pytest.mark.boundary(64)
def test_an_act_that_was_not_granted_is_refused_when_it_is_done(skills: RunningSidecar) -> None:
    text = hello(1, "greedy/asked").replace("import client", "import client, notify").replace("=2", "=0")
    skills.save("greedy", text.replace("lambda: VALUE", 'lambda: notify("ops", "hello")'))
    skills.live("greedy", 1)
    ran(skills, "greedy", 1, "failed")
    with skills.reading() as scope:
        refused = refusals.list_refusals(scope, "greedy")
        assert [one.text for one in notices.list_newest_notices(scope) if one.text.endswith("hello")] == []
    assert [one.what for one in refused] == ["notify"]
    assert refused[0].version_id == serving_id(skills, "greedy")


def test_a_persons_moves_are_followed(skills: RunningSidecar) -> None:
    for value in (1, 2):
        skills.save("moved", hello(value, "moved/asked"))
        skills.live("moved", value)
        ran(skills, "moved", value)
    with skills.writing() as scope:
        control.rollback(scope, "moved", PERSON_ID)
    # The pointer is the book's: the next run is on it whether or not anybody has followed yet.
    ran(skills, "moved", 3)
    assert skills.outputs("skill-moved/hello", 3) == [1, 2, 1]
    # Who saves what serves and then the other one again means it.
    skills.save("moved", hello(1, "moved/asked"))
    until("nothing is held against a file", lambda: held(skills, "moved") == "", 30)
    assert skills.skill("moved")["version"] == 1
    skills.save("moved", hello(2, "moved/asked"))
    skills.live("moved", 2)

    with skills.writing() as scope:
        control.disable(scope, "moved", PERSON_ID)
    listed = f"/v1/apps/skill-moved/functions?fresh={time.monotonic_ns()}"
    until("the engine heard", lambda: not known_functions(skills.client, listed), 30)
    skills.ask("moved/asked")
    time.sleep(0.5)
    assert len(skills.runs("skill-moved/hello")) == 3
    with skills.writing() as scope:
        control.enable(scope, "moved", PERSON_ID)
    until("the engine heard", lambda: known_functions(skills.client, listed), 30)
    ran(skills, "moved", 4)

    with skills.writing() as scope:
        control.delete(scope, "moved", PERSON_ID)
    until("its file gone", lambda: not (skills.folder / "moved.py").exists(), 30)
    until("the engine heard", lambda: not known_functions(skills.client, listed), 30)
    skills.save("moved", hello(5, "moved/asked"))
    skills.live("moved", 3)


def held(skills: RunningSidecar, stem: str) -> str:
    """The hash of a file that is not to be taken again."""
    with skills.reading() as scope:
        return skill.get_skill(scope, stem).refused_sha


def known_functions(engine: Engine, path: str) -> bool:
    found = engine.get(path, {"again": time.monotonic_ns()})
    return bool(found.get("data") if isinstance(found, dict) else found)


def test_a_function_is_invoked_by_an_event_of_its_own(skills: RunningSidecar) -> None:
    text = hello(1, "invoked/asked").replace("lambda: VALUE", "lambda: ctx.event.data['word']")
    skills.save("invoked", text)
    skills.live("invoked", 1)
    skills.ask(invoke_event_name("invoked", "hello"), word="now")
    assert skills.outputs("skill-invoked/hello", 1) == ["now"]


def test_a_deleted_skills_sleeping_run_goes_on(skills: RunningSidecar) -> None:
    text = hello(1, "sleeps/asked").replace("    return", '    ctx.step.sleep("nap", 2000)\n    return')
    skills.save("sleeps", text)
    skills.live("sleeps", 1)
    skills.ask("sleeps/asked")
    until("the run begun", lambda: skills.skill("sleeps")["runs"], 60)
    with skills.writing() as scope:
        control.delete(scope, "sleeps", PERSON_ID)
    assert skills.outputs("skill-sleeps/hello", 1) == [1]
