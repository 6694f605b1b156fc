"""The sidecar and a keyed engine, ours and Inngest's self-hosted one: calls are signed both ways."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = [
    pytest.mark.load,
    pytest.mark.engines("embedded", "inngest_start"),
]

NEWER_KEY = "fedcba9876543210" * 4

LARGE = '''"""More state than fits into one call."""
import inngest
from skills.kit import client

MANIFEST = {"title": "Large", "purpose": "carries much", "permissions": {"events": {"listen": ["large/asked"]}}}

@client.create_function(fn_id="large", trigger=inngest.TriggerEvent(event="large/asked"), retries=0)
def large(ctx: inngest.ContextSync) -> object:
    parts = [ctx.step.run("part", lambda: "x" * 2_500_000) for n in range(3)]
    return [len(part) for part in parts] + [ctx.event.data["word"]]
'''


@pytest.fixture
def keyed(any_engine: RunningEngine) -> RunningEngine:
    if any_engine.signing_key is None:
        pytest.skip("this is about keys, and the server that --engine names has none")
    return any_engine


def test_text_of_every_kind_gets_through_signed(skills: RunningSidecar) -> None:
    skills.save("echo", hello(0, "echo/asked").replace("lambda: VALUE", "lambda: ctx.event.data['said']"))
    skills.live("echo", 1)
    said = ["Curaçao & crème", "😀", "<b>&amp;</b>", "\u2028\u202e", 1.5, -0.0, 1e21, {"é": [None, True]}]
    for number, one in enumerate(said, start=1):
        skills.ask("echo/asked", said=one)
        assert skills.outputs("skill-echo/hello", number)[-1] == one


@pytest.mark.usefixtures("keyed")
def test_a_call_without_a_signature_is_refused(skills: RunningSidecar) -> None:
    skills.save("closed", hello(1, "closed/asked"))
    skills.live("closed", 1)
    for method in ("GET", "POST", "PUT"):
        answer = httpx.request(method, skills.url + "/api/inngest/closed?fnId=skill-closed-hello&stepId=step")
        assert answer.status_code == 401


def test_state_that_is_too_large_for_a_call_is_fetched(skills: RunningSidecar) -> None:
    skills.save("large", LARGE)
    skills.live("large", 1)
    skills.ask("large/asked", word="ünder")
    assert skills.outputs("skill-large/large", 1, 90) == [[2_500_000] * 3 + ["ünder"]]


def test_a_skill_sends_the_events_that_it_was_granted(skills: RunningSidecar) -> None:
    sends = 'ctx.step.send_event("send", inngest.Event(name="sent/asked", data={"from": "skill"}))\n    return '
    text = hello(1, "sender/asked").replace("return ", sends, 1)
    skills.save("sender", text.replace('"events": {', '"events": {"send": ["sent/asked"], '))
    skills.save("receiver", hello(2, "sent/asked"))
    assert skills.answer("sender", "grant")["permissions"] == ["send:sent/asked"]
    skills.live("sender", 1)
    skills.live("receiver", 1)
    skills.ask("sender/asked")
    assert skills.outputs("skill-receiver/hello", 1) == [2]


def test_while_keys_are_exchanged_answers_bear_the_key_of_who_calls(keyed: RunningEngine, tmp_path: Path) -> None:
    ours_is_newer = {"INNGEST_SIGNING_KEY": NEWER_KEY, "INNGEST_SIGNING_KEY_FALLBACK": str(keyed.signing_key)}
    with sidecar(keyed, tmp_path / "home", ours_is_newer) as skills:
        skills.save("rotated", hello(4, "rotated/asked"))
        skills.live("rotated", 1)
        skills.ask("rotated/asked")
        assert skills.outputs("skill-rotated/hello", 1) == [4]


def test_peoples_folders_and_a_clash_with_the_agents(any_engine: RunningEngine, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "rank.py").write_text(hello(1, "rank/asked"))
    with sidecar(any_engine, tmp_path / "home", {"LOOPWRIGHT_SKILL_PATH": str(own)}) as skills:
        first = skills.live("rank", 1)
        assert (first["origin"], first["source"]) == ("person", str(own / "rank.py"))
        skills.save("rank", hello(2, "rank/asked"))
        until("both files named", lambda: "both called rank" in str(skills.skill("rank")["problems"]), 60)
        assert skills.skill("rank")["hash"] == first["hash"]
        os.unlink(own / "rank.py")
        second = skills.live("rank", 2)
        assert (second["origin"], second["source"]) == ("agent", str(skills.folder / "rank.py"))
