"""The agent's tools beside a running sidecar: what it writes goes live, is tried, invoked, and tells how it did."""

from __future__ import annotations

from typing import Any

import pytest

from app.bootstrap import PERSON_ID
from runtime.cards.answers import CardAnswers, answer_card
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.tools import AgentSkillFolder, skill_tools
from tests.skills.agent import Agent
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

COUNTER = '''"""Counts words and tells ops."""
import inngest
from skills.kit import client, notify

MANIFEST = {
    "title": "Counter", "purpose": "counts words",
    "permissions": {"notify": ["ops"], "events": {"listen": ["text/written"]}},
}

@client.create_function(fn_id="count", trigger=inngest.TriggerEvent(event="text/written"), retries=0)
def count(ctx: inngest.ContextSync) -> int:
    words = ctx.step.run("count", lambda: len(str(ctx.event.data["text"]).split()))
    ctx.step.run("tell", lambda: notify("ops", f"{words} words"))
    return words
'''


def granted(skills: RunningSidecar, card_id: str) -> None:
    with skills.writing() as scope:
        answer_card(scope, card_id, "grant", "", PERSON_ID, CardAnswers(SKILL_CARD_ANSWERS))


def test_a_skill_of_the_agents_goes_from_its_words_to_its_runs(skills: RunningSidecar) -> None:
    # given an agent that writes a skill with a fault, and repairs it
    tools = skill_tools(AgentSkillFolder(home=skills.home, patience_seconds=60), skills.client)
    agent = Agent(skills.database, tools)
    bad = agent.write(COUNTER.replace('"notify": ["ops"], ', ""), "counter")
    assert not bad.ok
    assert [one["line"] for one in bad.content["problems"]] == [13]
    said = agent.write(COUNTER, "counter").content
    # then a person is asked for what it wants, and until then nothing serves
    assert said["status"] == "waiting"
    early = agent.call("test_skill", name="counter", data={"text": "one two three"})
    assert not early.ok
    assert "not been granted" in early.content["failed"]
    # when it is granted, it is live, and a trial tells its effects without having them
    granted(skills, said["card_id"])
    skills.live("counter", 1)
    trial = agent.call("test_skill", name="counter", data={"text": "one two three"})
    happened = " ".join(trial.content["what_happened"])
    assert trial.ok, trial.content
    assert "it returns 3" in happened
    assert "notify" in happened
    failed = agent.call("test_skill", name="counter", data={})
    assert not failed.ok
    assert "KeyError" in failed.content["failed"]
    # when it is invoked, the run does it
    agent.call("invoke_skill", name="counter", data={"text": "one two"})

    def ran() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = agent.call("skill_runs", name="counter").content["runs"]
        return [one for one in found if one["status"] == "completed"]

    (run,) = until("the run", ran, 60)
    assert run["output"] == 2
    # when it is retired and a person confirms, its file goes
    card_id = agent.call("retire_skill", name="counter", reason="counted enough").content["card_id"]
    with skills.writing() as scope:
        answers = CardAnswers(SKILL_CARD_ANSWERS)
        answer_card(scope, card_id, "confirm", "", PERSON_ID, answers)
    until("its file gone", lambda: not (skills.folder / "counter.py").exists(), 60)
