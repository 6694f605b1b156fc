"""Versions rehearsed on a recorded run: real processes in the real jail, the real broker, servers that listen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from runtime import notices
from runtime.cards import cards
from runtime.limits import credits
from sidecar.broker.identity import IdentityMode
from sidecar.jail.jail import Jail
from sidecar.jail.probe import probe_isolation
from sidecar.pool.child_process import ChildProcess
from sidecar.pool.child_process import SkillCode as Code
from sidecar.pool.spawner import Spawner
from sidecar.rehearsal.driver import RehearsedFunction, play_run
from sidecar.rehearsal.rehearsal import Rehearsal, RunRecording, rehearse_run
from sidecar.rehearsal.version_rehearsal import VersionRehearsal
from skills.book import grants, runs, versions
from skills.book.runs import SkillRun
from skills.book.skill import enter_skill
from skills.book.versions import CheckedVersion
from skills.format.manifest import read_manifest
from skills.lifecycle import budget_card
from tests.support.databases import Store
from tests.support.http_servers import HttpServer, Request, Response, http_server
from tests.support.skill_world import SkillWorld, skill_world

pytestmark = pytest.mark.long

STEM = "watch"

HEAD = '''"""Watches."""
import inngest
from datetime import timedelta
from typing import Literal
from pydantic import BaseModel
from skills.kit import Refused, Unavailable, claim, client, http, llm, notify, release, runs

MANIFEST = {{"title": "Watch", "purpose": "watches", "permissions": {{
    "hosts": ["{place}"], "events": {{"listen": ["check/asked", "check/confirmed"], "send": ["check/done"]}},
    "notify": ["ops"], "model_budget_per_day": "1", "ask_agent": False}}}}
URL = "http://{place}"

class Health(BaseModel):
    state: Literal["normal", "degraded"]

@client.create_function(fn_id="main", trigger=inngest.TriggerEvent(event="check/asked"), retries=3)
def main(ctx: inngest.ContextSync) -> object:
'''

FIRST = """
    metrics = ctx.step.run("metrics", lambda: http.get(URL + "/metrics", params={"q": "up"}).json())
    health = ctx.step.run("assess", lambda: llm("How?", name="health", schema=Health, facts=metrics).state)
    ctx.step.sleep("settle", timedelta(hours=1))
    confirmed = ctx.step.wait_for_event("confirm", event="check/confirmed", timeout=timedelta(days=1))
    ctx.step.run("order", lambda: http.post(URL + "/orders", json={"n": metrics["n"]}).status)
    ctx.step.run("tell", lambda: notify("ops", health, ask=("real", "false alarm")))
    ctx.step.send_event("send", inngest.Event(name="check/done", data={"health": health}))
    return {"health": health, "n": metrics["n"], "confirmed": confirmed is not None}
"""


@dataclass
class Theatre:
    """`record` runs a source for real; `rehearse` plays another on what was recorded."""

    world: SkillWorld
    spawner: Spawner
    shop: HttpServer
    booted: list[ChildProcess] = field(default_factory=list)

    def source(self, body: str) -> str:
        return HEAD.format(place=self.shop.address) + body

    def boot(self, body: str, mode: IdentityMode) -> tuple[ChildProcess, RehearsedFunction]:
        data = self.source(body).encode()
        sha, manifest = hashlib.sha256(data).hexdigest(), read_manifest(data)
        granted = frozenset(grants.wanted_permissions(manifest))
        self.world.grant(STEM, granted)
        child = self.spawner.boot(Code(STEM, sha, data, f"/skills/{STEM}.py", f"sv_{STEM}", manifest, granted, mode))
        self.booted.append(child)
        event = {"name": "check/asked", "data": {"why": "test"}, "id": "e1", "ts": 1}
        return child, RehearsedFunction(
            STEM, "main", manifest, frozenset({f"skill-{STEM}-main"}), granted, "run-1", event
        )

    def record(self, body: str = FIRST, memos: Mapping[str, Any] | None = None) -> RunRecording:
        self.world.begin(STEM, "run-1")
        child, part = self.boot(body, "live")
        played = play_run(part, child, memos or {}, lambda *_: None)
        assert played.error is None
        recordings = self.world.broker.recordings
        kept = {step.id: None for step in played.steps} | dict(memos or {})
        recordings.keep_memos(STEM, "run-1", kept)
        exchanges = recordings.read_exchanges(STEM, "run-1")
        return RunRecording("run-1", "main", part.event, exchanges, recordings.memos(STEM, "run-1"), played.output)

    def rehearse(self, body: str, recording: RunRecording, mode: IdentityMode = "rehearsal") -> Rehearsal:
        child, part = self.boot(body, mode)
        tried = replace(part, run_id="try_1")
        return rehearse_run(tried, child, recording, self.world.broker.simulations, reads_for_real=mode == "shadow")

    def effects(self) -> tuple[int, int, int]:
        """Orders at the shop, notices, and cards."""
        with self.world.reading() as scope:
            told, asked = len(notices.list_newest_notices(scope)), len(cards.list_open_cards(scope))
        return len([one for one in self.shop.requests if one.method == "POST"]), told, asked


def respond(request: Request) -> Response:
    return (
        Response(201) if request.method == "POST" else Response(body=b'{"n": 7, "path": "%s"}' % request.path.encode())
    )


@pytest.fixture
def theatre(store: Store, tmp_path: Path) -> Iterator[Theatre]:
    with (
        http_server(respond) as shop,
        http_server(lambda _: Response(body=b'{"ids": ["e"], "status": 200}')) as engine,
        skill_world(store, tmp_path / "h", engine_url=engine.url) as world,
    ):
        spawner = Spawner(Jail(tmp_path / "run", probe_isolation()), world.broker)
        made = Theatre(world, spawner, shop)
        world.model._verdicts = [{"state": "degraded"}]
        yield made
        for child in made.booted:
            spawner.end(child)
        spawner.stop()


def test_a_run_of_many_steps_is_rehearsed_to_its_end(theatre: Theatre) -> None:
    many = """
    for n in range(210):
        ctx.step.sleep("pause", 1000)
    return "done"
"""
    recording = RunRecording(
        "run-1", "main", {"name": "check/asked", "data": {}}, (), {f"s{n}": None for n in range(210)}
    )
    assert theatre.rehearse(many, recording).output == "done"
    assert "did not end within 200 calls" in str(theatre.rehearse(many, replace(recording, memos=None)).error)


def test_the_same_version_does_the_same_and_nothing_is_done(theatre: Theatre) -> None:
    recording = theatre.record()
    before, asked = theatre.effects(), len(theatre.shop.requests)

    rehearsal = theatre.rehearse(FIRST, recording)

    assert rehearsal.ok, rehearsal.error
    assert rehearsal.output == {"health": "degraded", "n": 7, "confirmed": False}
    assert rehearsal.differences == rehearsal.unrecorded == rehearsal.reworded == rehearsal.refused == ()
    assert [one.path for one in rehearsal.effects] == ["/http", "/notify", "/events"]
    assert [one.name for one in rehearsal.steps] == ["metrics", "assess", "settle", "confirm", "order", "tell", "send"]
    assert theatre.effects() == before == (1, 1, 1)
    assert len(theatre.shop.requests) == asked


@pytest.mark.load
def test_what_a_change_does_otherwise_is_listed(theatre: Theatre) -> None:
    recording = theatre.record()
    changed = (
        FIRST.replace('{"n": metrics["n"]}', '{"n": 99}')
        .replace('"tell"', '"shout"')
        .replace('"n": metrics', '"m": metrics')
    )

    rehearsal = theatre.rehearse(changed, recording)

    assert rehearsal.ok
    said = "\n".join(rehearsal.differences)
    assert 'it returns {"confirmed": false, "health": "degraded", "m": 7} instead of' in said
    assert "it would now do this: http" in said
    assert "it would no longer do this: http" in said
    assert "it takes a new step: shout" in said
    assert "it leaves out 1 of the recorded steps" in said


@pytest.mark.load
def test_a_question_in_other_words_gets_the_recorded_answer(theatre: Theatre) -> None:
    recording = theatre.record()

    rehearsal = theatre.rehearse(FIRST.replace("How?", "How, in other words?"), recording)

    assert rehearsal.ok
    assert rehearsal.reworded == ("the model for `health`",)
    assert len(theatre.world.model.requests) == 1


@pytest.mark.load
def test_what_was_not_recorded_is_refused_politely_and_asked_for_real_in_the_shadow(theatre: Theatre) -> None:
    recording = theatre.record()
    changed = FIRST.replace('"/metrics"', '"/other"')

    dry = theatre.rehearse(changed, recording)
    unasked = theatre.rehearse(FIRST.replace('name="health"', 'name="other"'), recording)
    theatre.world.model._verdicts = [{"state": "normal"}]
    real = theatre.rehearse(changed, recording, "shadow")
    same = theatre.rehearse(FIRST, recording, "shadow")

    assert not dry.ok
    assert dry.unrecorded == (f"GET {theatre.shop.url}/other",)
    assert "the recorded run did not ask" in str(dry.error)
    assert unasked.unrecorded == ("the model for `other`",)
    assert real.ok
    assert real.output["health"] == "normal"
    # The very same question to the model is answered from the record: it would cost again.
    assert same.output["health"] == "degraded"
    assert theatre.effects() == (1, 1, 1)


@pytest.mark.load
def test_a_wait_is_answered_as_it_was(theatre: Theatre) -> None:
    wait = hashlib.sha1(b"confirm").hexdigest()
    event = {"name": "check/confirmed", "data": {}, "id": "e2", "ts": 2}
    recording = theatre.record(memos={wait: event})

    rehearsal = theatre.rehearse(FIRST, recording)

    assert recording.output["confirmed"] is True
    assert rehearsal.output["confirmed"] is True
    assert rehearsal.differences == ()


FAILING = """
    raise ValueError("broken")

def failing(fn_id):
    return client.create_function(fn_id=fn_id, trigger=inngest.TriggerEvent(event="check/asked"))

@failing("step")
def step(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("bad", lambda: 1 / 0)

@failing("exit")
def leave(ctx: inngest.ContextSync) -> object:
    import os
    os._exit(3)

@failing("endless")
def endless(ctx: inngest.ContextSync) -> object:
    return [ctx.step.sleep(f"s{n}", timedelta(seconds=1)) for n in range(300)]

@failing("host")
def host(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("x", lambda: http.get("http://other.example/").status)

@failing("wait")
def wait(ctx: inngest.ContextSync) -> object:
    return ctx.step.wait_for_event("w", event="message/received", timeout=1000)
"""


@pytest.mark.load
def test_a_version_that_fails_says_how(theatre: Theatre) -> None:
    child, part = theatre.boot(FAILING, "rehearsal")
    said = {}
    for fn in ("main", "step", "exit", "endless", "host", "wait"):
        recording = RunRecording("run-1", fn, part.event)
        played = rehearse_run(
            replace(part, function_id=fn, run_id=fn), child, recording, theatre.world.broker.simulations
        )
        assert not played.ok
        said[fn] = str(played.error)

    assert "ValueError: broken" in said["main"]
    assert "division by zero" in said["step"]
    assert "exited with status 3" in said["exit"]
    assert "within 200 calls" in said["endless"]
    assert "not among the hosts" in said["host"]
    assert "listen does not name" in said["wait"]


def test_a_step_that_fails_at_first_is_tried_again(theatre: Theatre) -> None:
    body = """
    def flaky() -> int:
        if ctx.attempt == 0:
            raise RuntimeError("once")
        return ctx.attempt
    a, b = ctx.group.parallel((lambda: ctx.step.run("a", lambda: 1), lambda: ctx.step.run("b", lambda: 2)))
    return {"sum": a + b, "attempt": ctx.step.run("flaky", flaky)}
"""
    rehearsal = theatre.rehearse(body, RunRecording("run-1", "main", {"name": "check/asked", "data": {}}))

    assert rehearsal.output == {"sum": 3, "attempt": 1}


def test_invokes_claims_and_history_are_pretended(theatre: Theatre) -> None:
    body = """
    held = ctx.step.run("claim", lambda: claim("k"))
    got = ctx.step.invoke("again", function=main, data={"deep": True})
    gone = ctx.step.run("release", lambda: release("k"))
    return [held, got, gone, ctx.step.run("runs", lambda: len(runs()))]
"""
    rehearsal = theatre.rehearse(body, RunRecording("run-1", "main", {"name": "check/asked", "data": {}}))

    assert rehearsal.output == [True, None, True, 0]
    assert [one.path for one in rehearsal.effects] == ["/claim", "/release", "/invoke"]


def test_a_trial_stage_is_no_way_to_speak_for_real(theatre: Theatre) -> None:
    child, part = theatre.boot('\n    ctx.step.run("t", lambda: notify("ops", "x"))\n', "rehearsal")

    played = play_run(part, child, {}, lambda *_: None)

    assert "no trial is running" in str(played.error)
    assert theatre.effects() == (0, 0, 0)


def test_the_life_cycle_gets_its_verdict(theatre: Theatre) -> None:
    theatre.record()
    run, good = _in_the_book(theatre, FIRST)
    _, bad = _in_the_book(theatre, '\n    raise ValueError("broken")\n')
    _, curious = _in_the_book(theatre, FIRST.replace('"/metrics"', '"/other"'))
    trying = VersionRehearsal(
        theatre.spawner, theatre.world.broker, theatre.world.reading, theatre.world.store.database.ids
    )

    verdicts = [trying(version, [run], live=False) for version in (good, bad, curious)]
    gone = trying(
        good, [replace(run, function_id="other"), replace(run, event={"cut": True, "beginning": ""})], live=True
    )

    assert [(one.runs, bool(one.failed)) for one in verdicts] == [(1, False), (1, True), (1, False)]
    assert verdicts[0].differences == ()
    assert "ValueError: broken" in verdicts[1].failed
    assert "asks for something that was not recorded" in verdicts[2].differences[0]
    assert (gone.runs, gone.failed, gone.silent) == (2, "", 2)
    assert "it has no function other any more" in gone.differences
    assert [one.silent for one in verdicts] == [0, 0, 1]


@pytest.mark.load
def test_a_run_that_fails_at_a_limit_of_its_skill_says_nothing_against_the_change(theatre: Theatre) -> None:
    theatre.record()
    run, bad = _in_the_book(theatre, '\n    raise ValueError("broken")\n')
    trying = VersionRehearsal(
        theatre.spawner, theatre.world.broker, theatre.world.reading, theatre.world.store.database.ids
    )
    store, usd = theatre.world.store, Decimal(1)
    with store.database.transaction(store.workspace_id) as scope:
        said = {"limit": "skill", "spent": usd, "needs": usd, "most": usd, "budget": usd, "currency": "USD"}
        budget_card.open_budget_card(scope, stem=STEM, day=credits.read_local_date(scope), **said)  # type: ignore[arg-type] # each is what it says

    recorded, asked = trying(bad, [run], live=False), trying(bad, [run], live=True)

    # Only what asks for real can meet a limit
    assert "ValueError: broken" in recorded.failed
    assert (asked.failed, asked.silent) == ("", 1)
    assert any("it showed nothing: ValueError: broken" in one for one in asked.differences)


def _in_the_book(theatre: Theatre, body: str) -> tuple[SkillRun, CheckedVersion]:
    source = theatre.source(body)
    store = theatre.world.store
    with store.database.transaction(store.workspace_id) as scope:
        skill = enter_skill(scope, STEM, origin="agent", path=f"/skills/{STEM}.py")
        manifest = read_manifest(source.encode())
        version = versions.add_version(
            scope,
            skill_id=skill.id,
            sha=hashlib.sha256(source.encode()).hexdigest(),
            source=source,
            author="agent",
            author_ref=None,
            reason="",
            parent_id=None,
            manifest=manifest,
            functions=[{"id": f"skill-{STEM}-main"}],
        )
        runs.record_run_end(scope, "run-1", "completed", output={"health": "degraded", "n": 7, "confirmed": False})
        found = runs.find_run(scope, "run-1")
    assert found is not None
    return replace(found, function_id="main", event={"name": "check/asked", "data": {}, "id": "e", "ts": 1}), version
