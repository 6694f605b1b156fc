"""Reviews, repairs, the tools for skills and what the broker does for them: a process dies at each point of theirs."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from core.identity import HOME_WORKSPACE
from core.llm.scripted_model import says
from core.orchestrator.engine import Engine
from runtime import notices
from runtime.cards import cards
from runtime.limits import credits
from runtime.tables import entries, messages, originals
from runtime.tasks import tasks
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation
from sidecar.pool.spawner import Spawner
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.run_versions import RunVersions
from skills import retention
from skills.book import claims, drafts, outcomes, refusals, runs, versions
from skills.book.runs import SkillRun
from skills.book.skill import get_skill
from skills.book.versions import CheckedVersion
from skills.kit import Refused, ask_agent, claim, http, llm, notify, release
from skills.kit.door import door
from skills.lifecycle import manual_test, model_budget, run_end
from skills.lifecycle.decision import Trial
from skills.lifecycle.run_end import EndedRun
from skills.review import repair, reviews, steps
from skills.review.repair import FailedSkillRun
from skills.tools import AgentSkillFolder, skill_tools
from skills.tools.folder import sha_of
from tests.faults.stage import Stage, commit
from tests.sidecar.local_registry import open_gate
from tests.skills.agent import Agent, take_into_service
from tests.skills.review.history import begin_run, change_verdict, record_past_runs, review_dependencies, save_skill
from tests.skills.skill_files import GOOD
from tests.skills.test_tools import serves
from tests.support.http_servers import Response, http_server
from tests.support.skill_world import skill_world

pytestmark = pytest.mark.kill

DEATHS: dict[str, tuple[str, ...]] = {
    "reviewed": (
        *commit("review.requested"),
        *commit("review.gathered"),
        *commit("review.judged"),
        *commit("review.done"),
    ),
    "failed_run": commit("run_failed.told"),
    "run_recorded": commit("skill-run-end"),
    "pruned": commit("pruned-skills"),
    "written": commit("skill.announced"),
    "kept": commit("skill.kept"),
    "proposed": commit("skill.proposed"),
    "retiring": commit("skill.retiring"),
    "tried": commit("skill.test_asked"),
    "invoked": commit("skill.invoked"),
    "thought": (*commit("skill.reserve"), "skill.think.before", "skill.think.after", *commit("skill.settle")),
    "gave_work": commit("skill.ask_agent"),
    "told": commit("skill.notify"),
    "claimed": (*commit("skill.claim"), *commit("skill.release")),
    "refused": commit("skill.refusal"),
    "went_too_far": commit("skill-refusal"),
    "fetched": ("skill.fetch.before", "skill.fetch.after"),
    "sent": ("skill.send.before", "skill.send.after"),
}


def test_a_review_proposes_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    version = save_skill(store)
    record_past_runs(store, version, 8, ["false alarm"] * 8)
    dependencies = review_dependencies(store, change_verdict(evidence=[f"{version.id}-run0"]))

    def review() -> None:
        for review_id in reviews.begin_reviews(store.database, ws, "run-1", "watch"):
            for step in (steps.gather_facts, steps.judge_review, steps.act_on_review):
                step(dependencies, ws, review_id)

    stage.die(DEATHS["reviewed"], review)

    with store.database.reading(ws) as scope:
        (done,) = reviews.list_reviews(scope, "watch")
        assert done.state == "done"
        assert len([one for one in notices.list_newest_notices(scope) if one.text.startswith("Review of watch")]) == 1
        assert len(tasks.list_tasks(scope)) == 1


def test_a_failed_run_is_secret_member_and_repaired_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    version = save_skill(store)
    with store.database.transaction(ws) as scope:
        begin_run(scope, version, "run1")
        runs.record_run_end(scope, "run1", "failed", error={"name": "KeyError", "message": "x"}, attempts=4)
    failed = FailedSkillRun(
        "skill-watch-work", "run1", {"name": "KeyError", "message": "x"}, {"name": "a/b", "data": {}}
    )

    stage.die(DEATHS["failed_run"], lambda: repair.report_failed_run(review_dependencies(store), failed, "loopwright"))

    with store.database.reading(ws) as scope:
        assert (len(notices.list_newest_notices(scope)), len(tasks.list_tasks(scope))) == (1, 1)


def test_the_end_of_a_run_is_written_down_once(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    version = save_skill(store)
    with store.database.transaction(ws) as scope:
        begin_run(scope, version, "run1")
    end = EndedRun("skill-watch-work", "run1", "completed", store.clock.now(), output={"n": 1})

    stage.die(DEATHS["run_recorded"], lambda: run_end.record_engine_end(store.database, end, 3))

    with store.database.reading(ws) as scope:
        run = runs.find_run(scope, "run1")
    assert run is not None
    assert (run.status, run.output) == ("completed", {"n": 1})


def test_pruning_that_died_is_followed_after_its_hour(stage: Stage) -> None:
    store, ws = stage.store, stage.store.workspace_id
    with store.database.transaction(ws) as scope:
        refusals.record_refusal(scope, skill_id="watch", version_id=None, run_id=None, what="host", detail="old")
    store.clock.advance(timedelta(days=50))

    def prune() -> None:
        # The lease of one that died has to run out first.
        for _ in range(3):
            retention.prune_skills(store.database, ws, timedelta(days=40))
            store.clock.advance(retention.PAUSE)

    stage.die(DEATHS["pruned"], prune)

    with store.database.reading(ws) as scope:
        assert refusals.list_refusals(scope, "watch") == []


def _agent(stage: Stage) -> tuple[AgentSkillFolder, Callable[[], Agent]]:
    desk = AgentSkillFolder(stage.folder / "home", str(stage.folder / "mine"), edits_per_day=2, patience_seconds=0)
    return desk, lambda: Agent(stage.store.database, skill_tools(desk, Engine.at("http://127.0.0.1:9")))


def test_a_skill_is_saved_once_and_as_its_authors(stage: Stage) -> None:
    desk, agent = _agent(stage)

    stage.die(DEATHS["written"], lambda: agent().write(GOOD))

    assert desk.path("words").read_text() == GOOD
    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        draft = drafts.find_draft(scope, "words", sha_of(GOOD.encode()))
    assert draft is not None
    assert (draft.author, draft.author_ref) == ("agent", "turn_1:1:1")


def test_a_text_that_was_not_saved_is_kept_once(stage: Stage) -> None:
    desk, agent = _agent(stage)
    text = GOOD + "# a long remark\n" * 1000 + "import os\n"

    stage.die(DEATHS["kept"], lambda: agent().write(text))

    assert not desk.path("words").exists()
    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        assert [row.text for row in scope.rows(scope.select(originals))] == [text]


def test_a_change_of_a_persons_file_is_asked_for_once(stage: Stage) -> None:
    _, agent = _agent(stage)
    mine = stage.folder / "mine" / "words.py"
    mine.parent.mkdir()
    mine.write_text(GOOD)
    serves(stage.store.database, mine)
    edit = [{"find": "retries=2", "replace": "retries=3"}]

    stage.die(
        DEATHS["proposed"],
        lambda: agent().call("write_skill", name="words", edits=edit, base_version=1, reason="too soon"),
    )

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        (card,) = cards.list_open_cards(scope)
    assert (card.kind, mine.read_text()) == ("permission", GOOD)


def test_a_person_is_asked_once_whether_a_skill_goes(stage: Stage) -> None:
    _, agent = _served(stage)

    stage.die(DEATHS["retiring"], lambda: agent().call("retire_skill", name="words", reason="unused"))

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        (card,) = cards.list_open_cards(scope)
        assert (card.kind, get_skill(scope, "words").status) == ("irreversible", "active")


def test_a_trial_is_asked_for_once(stage: Stage) -> None:
    _, agent = _served(stage)

    stage.die(DEATHS["tried"], lambda: agent().call("test_skill", name="words", data={"text": "a"}))

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        version = versions.get_version_by_number(scope, "words", 1)
        assert manual_test.read_test(version) is not None


def test_a_run_is_asked_for_under_one_id(stage: Stage) -> None:
    with http_server(lambda _: Response(200, b'{"ids": ["event-1"], "status": 200}')) as engine:
        desk, _ = _served(stage)

        def invoke() -> None:
            tools = skill_tools(desk, Engine.at(engine.url))
            Agent(stage.store.database, tools).call("invoke_skill", name="words", data={"text": "a"})

        stage.die(DEATHS["invoked"], invoke)

        assert {b"invoke:turn_1:1:1" in one.body for one in engine.requests} == {True}


def _served(stage: Stage) -> tuple[AgentSkillFolder, Callable[[], Agent]]:
    """A skill of the agent's that serves, and the agent."""
    desk, agent = _agent(stage)
    agent().write(GOOD)
    take_into_service(stage.store.database, desk)
    return desk, agent


def _skill_asks(
    stage: Stage,
    entries_: tuple[str, ...],
    ask: Callable[[], object],
    engine_url: str = "http://127.0.0.1:9",
    **permissions: Any,
) -> None:
    """Let a skill ask in processes that die; each has a broker of its own, as a sidecar that is started again."""

    def act() -> None:
        with skill_world(stage.store, _empty(stage.folder), engine_url=engine_url) as world:
            world.model._script = [says("All is well.")]
            world.speak_as("watch", **permissions)
            ask()

    stage.die(entries_, act)


def _empty(folder: Path) -> Path:
    """A home for sockets; the one of a process that died is left behind."""
    return folder / f"world-{len(list(folder.glob('world-*')))}"


def test_a_question_that_was_lost_is_held_until_it_is_given_back_and_the_next_is_charged_once(stage: Stage) -> None:
    store = stage.store
    _skill_asks(stage, DEATHS["thought"], lambda: llm("Well?"), model_budget_per_day="0.50")

    with store.database.reading(store.workspace_id) as scope:
        rows_ = scope.rows(scope.select(entries).where(entries.c.order_id.is_not(None)))
        kinds = [row.kind for row in rows_]
        budget = credits.read_budget(scope)
        # A process asked again each time its own was lost, and each question stands in the ledger.
        assert kinds.count("settle") in (1, 2)
        assert budget.balance == 100 - sum(row.amount for row in rows_ if row.kind == "settle")
        settled = {row.order_id for row in rows_ if row.kind == "settle"}
        held = sum(row.amount for row in rows_ if row.kind == "reserve" and row.order_id not in settled)
        assert budget.reserved == held > 0
        assert model_budget.spent_on(scope, "watch", credits.read_local_date(scope)) == held + 100 - budget.balance


def test_the_agent_is_given_a_skills_work_once(stage: Stage) -> None:
    _skill_asks(stage, DEATHS["gave_work"], lambda: ask_agent("Look at checkout", key="down"), ask_agent=True)

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        assert [row.asked_by for row in scope.rows(scope.select(messages))] == ["program"]


def test_people_are_told_and_asked_once(stage: Stage) -> None:
    _skill_asks(stage, DEATHS["told"], lambda: notify("ops", "slow", ask=("real", "false alarm")), notify=["ops"])

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        assert (len(notices.list_newest_notices(scope)), len(cards.list_open_cards(scope))) == (1, 1)
        assert outcomes.list_outcomes(scope, "watch") == []


def test_a_claim_is_of_one_run_and_goes_with_its_release(stage: Stage) -> None:
    def hold() -> None:
        assert claim("door", minutes=60)
        release("door")

    _skill_asks(stage, DEATHS["claimed"], hold)

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        assert claims.holder(scope, "watch", "door") is None


def test_a_refusal_is_written_down_though_a_process_died_over_it(stage: Stage) -> None:
    def beyond() -> None:
        with suppress(Refused):
            notify("elsewhere", "hello")

    _skill_asks(stage, DEATHS["refused"], beyond)

    with stage.store.database.reading(HOME_WORKSPACE) as scope:
        assert {one.what for one in refusals.list_refusals(scope, "watch")} == {"notify"}


def test_what_a_run_may_not_is_written_down_though_a_process_died_over_it(stage: Stage) -> None:
    store = stage.store
    version = save_skill(store)

    def refuse() -> None:
        with skill_world(store, _empty(stage.folder)) as world, ThreadPoolExecutor(1) as checkers:
            spawner = Spawner(Jail(world.home / "run", probe_isolation()), world.broker)
            engine = Engine.at("http://127.0.0.1:9")
            dependencies = SidecarDependencies(store.database, engine, "", spawner, open_gate, never_tried, checkers)
            RunVersions("watch", dependencies, Lock(), lambda: None).record_refusal(
                version, "run1", "wait", "it waits for a/b"
            )

    stage.die(DEATHS["went_too_far"], refuse)

    with store.database.reading(HOME_WORKSPACE) as scope:
        assert {one.what for one in refusals.list_refusals(scope, "watch")} == {"wait"}


def never_tried(version: CheckedVersion, runs: list[SkillRun], *, live: bool) -> Trial:
    raise AssertionError(f"{version.id} is not tried here: {len(runs)}, {live}")


def test_an_event_goes_out_under_one_id_whatever_died_over_it(stage: Stage) -> None:
    with http_server(lambda _: Response(200, b'{"ids": ["event-1"], "status": 200}')) as engine:
        _skill_asks(
            stage,
            DEATHS["sent"],
            lambda: door.http().post("http://broker/e/key", json={"name": "shop/slow", "data": {"n": 1}}),
            engine_url=engine.url,
            events={"send": ["shop/slow"]},
        )

        ids = [json.loads(one.body)[0]["id"] for one in engine.requests]
    assert (len(ids), len(set(ids))) == (2, 1)


def test_what_is_sent_again_after_a_death_carries_the_same_key(stage: Stage) -> None:
    with http_server(lambda _: Response(201, b"made")) as shop:
        _skill_asks(
            stage,
            DEATHS["fetched"],
            lambda: http.post(f"{shop.url}/orders", json={"n": 1}),
            hosts=[shop.address],
        )

        # Not before it was sent; again after a death between the answer and its keeping.
        assert len(shop.requests) == 2
        assert len({one.headers["idempotency-key"] for one in shop.requests}) == 1
