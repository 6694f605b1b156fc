"""The life of a skill in a sidecar that dies at each of its commits: whoever starts again leads it on from the book."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from runtime.cards import cards
from skills.book import drafts, skill, versions
from skills.lifecycle import control, manual_test
from tests.faults.stage import commit
from tests.support.engines import embedded, running
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = pytest.mark.kill

DEATHS: dict[str, tuple[str, ...]] = {
    "saved": (*commit("skill-entered"), *commit("skill-version"), *commit("skill-active")),
    "ran": commit("skill-run"),
    "turned_down": commit("skill-refused"),
    "restored": commit("skill-as-before"),
    "tried": commit("skill-tested"),
    "asks": commit("skill-asks"),
    "staged": commit("skill-stage"),
    "changed_as_shipped": commit("skill-draft-taken"),
    "gone": commit("skill-retired"),
}
T = TypeVar("T")
_PATIENCE = 150.0
SHIPPED_CHECK = "infra_health_check"


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    """One sidecar for all of them, whose server starts the process anew that died."""
    with (
        running(embedded(tmp_path_factory.mktemp("engine"))) as engine,
        sidecar(engine, tmp_path_factory.mktemp("home"), {"LOOPWRIGHT_CRASH_AT": "@"}) as made,
    ):
        yield made


def survives(skills: RunningSidecar, name: str, act: Callable[[], object], done: Callable[[], T]) -> T:
    """Do `act` while the sidecar dies at each of these points; what `done` answers once it has lived through them."""
    folder = skills.home / "crash"
    folder.mkdir(exist_ok=True)
    (folder / "plan").write_text(",".join(DEATHS[name]))
    act()
    found = until(f"{name}, after its deaths", lambda: _all_struck(skills, name) and done(), _PATIENCE, 0.2)
    (folder / "plan").write_text("")
    assert found
    return found


def _all_struck(skills: RunningSidecar, name: str) -> bool:
    return all((skills.home / "crash" / entry).exists() for entry in DEATHS[name])


def _serves(skills: RunningSidecar, stem: str, number: int) -> Callable[[], bool]:
    return lambda: (skills.skill(stem).get("status"), skills.skill(stem).get("version")) == ("active", number)


def _source(stem: str, value: int = 1) -> str:
    """A skill whose runs outlive a sidecar that takes its time to start again."""
    return hello(value, f"{stem}/asked").replace("retries=2", "retries=20")


def _born(skills: RunningSidecar, stem: str, value: int = 1) -> None:
    skills.save(stem, _source(stem, value))
    skills.live(stem, 1)


def test_a_saved_skill_serves_once_whatever_dies_on_its_way(skills: RunningSidecar) -> None:
    survives(skills, "saved", lambda: skills.save("born", _source("born", 1)), _serves(skills, "born", 1))

    with skills.reading() as scope:
        assert len(versions.list_versions(scope, "born")) == 1


def test_a_run_goes_on_and_is_written_down_once(skills: RunningSidecar) -> None:
    _born(skills, "runner", 7)

    def completed() -> list[object]:
        return [run["output"] for run in skills.runs("skill-runner/hello") if run["status"] == "completed"]

    assert survives(skills, "ran", lambda: skills.ask("runner/asked"), completed) == [7]


def test_a_bad_save_is_turned_down_and_the_old_version_serves(skills: RunningSidecar) -> None:
    _born(skills, "worse")

    def told() -> object:
        return skills.skill("worse").get("problems")

    survives(skills, "turned_down", lambda: skills.save("worse", "import os\n"), told)
    assert _serves(skills, "worse", 1)()

    # When the file holds again what serves
    survives(skills, "restored", lambda: skills.save("worse", _source("worse", 1)), lambda: not told())
    assert _serves(skills, "worse", 1)()


def test_a_trial_that_somebody_waits_for_is_answered(skills: RunningSidecar) -> None:
    _born(skills, "tried")

    def ask() -> None:
        with skills.writing() as scope:
            version = versions.get_version_by_number(scope, "tried", 1)
            event = {"name": "tried/asked", "data": {}}
            manual_test.request_test(scope, version, cause="c", function_id="skill-tried-hello", event=event)

    def answered() -> object:
        with skills.reading() as scope:
            test = manual_test.read_test(versions.get_version_by_number(scope, "tried", 1))
        return test is not None and test.trial is not None

    survives(skills, "tried", ask, answered)


def test_a_person_is_asked_once_for_what_a_skill_wants(skills: RunningSidecar) -> None:
    source = _source("asks", 1).replace('"permissions": {', '"permissions": {"notify": ["ops"], ')

    def open_ones() -> list[cards.Card]:
        with skills.reading() as scope:
            return [card for card in cards.list_open_cards(scope) if card.subject.get("skill_id") == "asks"]

    assert len(survives(skills, "asks", lambda: skills.save("asks", source), open_ones)) == 1


def test_a_change_of_the_agents_is_tried_before_it_serves(skills: RunningSidecar) -> None:
    _born(skills, "staged")
    skills.ask("staged/asked")
    skills.outputs("skill-staged/hello", 1)
    changed = _source("staged", 2)

    def save() -> None:
        sha = hashlib.sha256(changed.encode()).hexdigest()
        with skills.writing() as scope:
            base = skill.get_skill(scope, "staged").version_id
            drafts.announce_save(
                scope,
                skill_id="staged",
                sha=sha,
                author="agent",
                author_ref="call",
                reason="better",
                base_id=base,
            )
        skills.save("staged", changed)

    def in_its_shadow() -> bool:
        with skills.reading() as scope:
            return {one.stage for one in versions.list_versions(scope, "staged")} == {"active", "shadow"}

    survives(skills, "staged", save, in_its_shadow)
    assert _serves(skills, "staged", 1)()


def test_a_change_of_a_shipped_skill_is_taken_in_once(skills: RunningSidecar) -> None:
    until("what is shipped", lambda: skills.skill(SHIPPED_CHECK), 60)
    with skills.writing() as scope:
        control.enable(scope, SHIPPED_CHECK, "ann")
    skills.answer(SHIPPED_CHECK, "grant")
    skills.live(SHIPPED_CHECK, 1)

    def change() -> None:
        with skills.writing() as scope:
            base = versions.get_version_by_number(scope, SHIPPED_CHECK, 1)
            changed = base.source.replace("SENSITIVITY = 1.0", "SENSITIVITY = 0.5")
            drafts.announce_save(
                scope,
                skill_id=SHIPPED_CHECK,
                sha=hashlib.sha256(changed.encode()).hexdigest(),
                author="agent",
                author_ref="call",
                reason="too many alarms",
                base_id=base.id,
                source=changed,
            )
            skill.touch_skill(scope, skill.get_skill(scope, SHIPPED_CHECK))

    survives(skills, "changed_as_shipped", change, _serves(skills, SHIPPED_CHECK, 2))
    with skills.reading() as scope:
        assert sorted(one.number for one in versions.list_versions(scope, SHIPPED_CHECK)) == [1, 2]
        assert drafts.find_pending_change(scope, SHIPPED_CHECK) is None


def test_a_skill_whose_file_is_gone_is_retired(skills: RunningSidecar) -> None:
    _born(skills, "gone")

    def retired() -> bool:
        return skills.skill("gone").get("status") == "retired"

    survives(skills, "gone", (skills.folder / "gone.py").unlink, retired)
