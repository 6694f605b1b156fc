"""The ledger hears from the engine how each run of a skill ended, and keeps it when the engine forgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from core.database import Database
from core.identity import HOME_WORKSPACE
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.run_history import RunHistory
from functions.record_skill_run import record_skill_run
from skills.book import runs
from skills.book.runs import SkillRun
from skills.review import reviews, steps
from skills.review.dependencies import ReviewDependencies
from tests.support.engines import RunningEngine
from tests.support.function_app import client_of, served
from tests.support.sidecar import RunningSidecar, sidecar
from tests.support.waiting import until

NAP = '''"""Sleeps as long as it is asked to."""
import inngest
from skills.kit import client

MANIFEST = {"title": "Nap", "purpose": "sleeps", "permissions": {"events": {"listen": ["nap/asked"]}}}

@client.create_function(fn_id="nap", trigger=inngest.TriggerEvent(event="nap/asked"), retries=0)
def nap(ctx: inngest.ContextSync) -> object:
    if ctx.event.data.get("seconds"):
        ctx.step.sleep("nap", int(str(ctx.event.data["seconds"])) * 1000)
    return ctx.step.run("wake", lambda: "rested")
'''
KEEPER = "loopwright/record-skill-run"
ROUGHLY = {"median_seconds", "slowest_tenth_seconds"}


@contextmanager
def ledger_kept(skills: RunningSidecar) -> Iterator[None]:
    """A worker with the ledger's function alone, beside the sidecar."""
    client = client_of(skills.engine, "loopwright")
    with closing(Database(skills.settings.sql_url)) as database:
        functions = [record_skill_run(client, database, 99)]
        with served(client, functions, skills.client, SystemClock()):
            yield


def kept(skills: RunningSidecar) -> list[SkillRun]:
    """The newest first."""
    with skills.reading() as scope:
        return runs.list_skill_runs(scope, "nap", 100)


def begun(skills: RunningSidecar, seconds: int) -> str:
    """The id of a run that is asleep for so long."""
    known = {run.run_id for run in kept(skills)}
    skills.ask("nap/asked", seconds=seconds)
    (run,) = until("a new run", lambda: [run for run in kept(skills) if run.run_id not in known], 20)
    return run.run_id


def ended(skills: RunningSidecar, run_id: str) -> SkillRun:
    def found() -> list[SkillRun]:
        return [run for run in kept(skills) if run.run_id == run_id and run.status != "running"]

    return until(f"the end of {run_id}", found, 30)[0]


def reviewed(skills: RunningSidecar) -> dict[str, Any]:
    """The numbers of a review now, but for the moment it is made."""
    dependencies = ReviewDependencies(skills.database, ScriptedModel(), RunHistory.of(skills.client))
    with skills.writing() as scope:
        review = reviews.request_review(scope, "nap", scope.ids.new("cause"), ring=False)
    assert steps.gather_facts(dependencies, HOME_WORKSPACE, review.id) == "gathered"
    with skills.writing() as scope:
        reviews.move_review(scope, review.id, "done", was="gathered")
        found = dict(reviews.get_review(scope, review.id).facts["facts"])
    return {name: value for name, value in found.items() if name != "until"}


@pytest.mark.long
@pytest.mark.engines("embedded", "inngest", "inngest_start")
def test_what_the_sidecar_missed_is_in_the_ledger_and_outlives_the_engines_history(
    any_engine: RunningEngine, tmp_path: Path
) -> None:
    with sidecar(any_engine, tmp_path) as skills, ledger_kept(skills):
        skills.save("nap", NAP)
        skills.live("nap", 1)
        well = ended(skills, begun(skills, 0))
        # Nobody tells the sidecar that a run is cancelled, and it asks after a minute at the earliest.
        cancelled = begun(skills, 600)
        skills.client.post(f"/v2/runs/{cancelled}/cancel", {})
        assert ended(skills, cancelled).output is None
        # Whoever may have functions invoked cannot speak as the engine.
        forged = {"function_id": "skill-nap-nap", "run_id": "forged", "_inngest": {"status": "Cancelled"}}
        skills.client.post("/v2/apps/loopwright/functions/record-skill-run/invoke", {"data": forged})
        # One is asleep when the sidecar goes away, another begins afterwards.
        asleep = begun(skills, 2)
        skills.stop()
        skills.ask("nap/asked", seconds=0)
        alone = ended(skills, asleep)
        known = {well.run_id, cancelled, asleep}
        missed = until("the run nobody served", lambda: [run for run in kept(skills) if run.run_id not in known], 30)

        assert {run.run_id: run.status for run in kept(skills)} == {
            well.run_id: "completed",
            cancelled: "cancelled",
            asleep: "failed",
            missed[0].run_id: "failed",
        }
        assert missed[0].version_id == well.version_id
        assert [(run.stage, run.attempts) for run in (alone, missed[0])] == [("unserved", 1), ("unserved", 1)]
        assert "each SDK URL" in alone.error["message"]
        assert missed[0].ended_at is not None
        assert missed[0].ended_at >= missed[0].began_at
        # One call for each end, none for those calls, and the forged one.
        calls = until("what the ledger heard", lambda: _ended_calls(skills, 5), 20)
        assert sorted(call["output"] or call["status"] for call in calls) == [
            "ended",
            "ended",
            "entered",
            "failed",
            "known",
        ]

        with_history = reviewed(skills)
        assert [with_history[name] for name in ("runs", "completed", "failed")] == [4, 1, 2]
        if any_engine.is_ours:
            _loses_its_history(any_engine)
            without_answer = reviewed(skills)
            any_engine.start()
            assert skills.history.list()["items"] == []
            for found in (without_answer, reviewed(skills)):
                assert {name: found[name] for name in ROUGHLY} == pytest.approx(
                    {name: with_history[name] for name in ROUGHLY}, abs=1
                )
                assert found | {name: with_history[name] for name in ROUGHLY} == with_history


def _loses_its_history(engine: RunningEngine) -> None:
    engine.kill()
    for file in [*engine.folder.glob("engine.sqlite*"), *engine.folder.glob(".inngest/main.db*")]:
        file.unlink()


def _ended_calls(skills: RunningSidecar, count: int) -> list[dict[str, Any]]:
    """The runs of the ledger's function, once so many have ended."""
    found = [run for run in skills.runs(KEEPER) if run["status"] == "failed" or run["output"]]
    return found if len(found) >= count else []
