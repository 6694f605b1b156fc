"""LOOPWRIGHT_SKILL_CARDS=always: each change of the agent's waits for a person, a person's own does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from runtime.cards import cards
from skills.lifecycle import save_status
from skills.lifecycle.save_status import SaveStatus
from skills.tools import AgentSkillFolder, skill_tools
from skills.tools.folder import sha_of
from tests.skills.agent import Agent
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]


@pytest.fixture(scope="module")
def skills(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    env = {"LOOPWRIGHT_SKILL_CARDS": "always", "LOOPWRIGHT_CANARY_RUNS": "1"}
    with sidecar(any_engine, tmp_path_factory.mktemp("home"), env) as running:
        yield running


@pytest.fixture
def agent(skills: RunningSidecar) -> Agent:
    return Agent(skills.database, skill_tools(AgentSkillFolder(home=skills.home, patience_seconds=60), skills.client))


def asked(skills: RunningSidecar) -> list[cards.Card]:
    with skills.reading() as scope:
        return [card for card in cards.list_open_cards(scope) if card.kind == "permission"]


def fate_of(skills: RunningSidecar, stem: str, text: str) -> SaveStatus:
    with skills.reading() as scope:
        return save_status.read_save_status(scope, stem, sha_of(text.encode()))


def write(agent: Agent, value: int, base: int | None = None) -> dict[str, Any]:
    more = {} if base is None else {"base_version": base}
    return dict(agent.write(hello(value, "careful/asked"), "careful", **more).content)


def ran(skills: RunningSidecar, values: list[int]) -> None:
    """One run more, and all of them answered this so far."""
    skills.ask("careful/asked")
    assert skills.outputs("skill-careful/hello", len(values)) == values


def test_each_change_of_the_agents_is_asked_for_on_a_card(skills: RunningSidecar, agent: Agent) -> None:
    # A first version that wants nothing at all is asked for too, and until then nothing of it runs.
    assert write(agent, 1)["status"] == "waiting"
    (card,) = asked(skills)
    assert (card.title, card.subject["permissions"]) == ("May the skill careful go live?", [])
    skills.ask("careful/asked")
    skills.answer("careful", "grant")
    skills.live("careful", 1)
    assert skills.runs("skill-careful/hello") == []
    ran(skills, [1])
    # A change that is refused leaves what serves, and its author is told.
    assert write(agent, 2, base=1)["status"] == "waiting"
    skills.answer("careful", "refuse")
    until("the refusal", lambda: fate_of(skills, "careful", hello(2, "careful/asked")).state == "refused", 60)
    assert "a person refused" in skills.skill("careful")["problems"][0]["reason"]
    ran(skills, [1, 1])
    # One that is granted still goes through its trials.
    assert write(agent, 3, base=1)["status"] == "waiting"
    skills.answer("careful", "grant")
    until("its shadow", lambda: fate_of(skills, "careful", hello(3, "careful/asked")).state == "shadow", 60)
    ran(skills, [1, 1, 1])
    until("its first run", lambda: fate_of(skills, "careful", hello(3, "careful/asked")).state == "canary", 60)
    ran(skills, [1, 1, 1, 3])
    skills.live("careful", 3)
    assert asked(skills) == []


def test_a_persons_save_is_live_without_a_card(skills: RunningSidecar) -> None:
    skills.save("mine", hello(1, "mine/asked"))
    skills.live("mine", 1)
    skills.save("mine", hello(2, "mine/asked"))
    skills.live("mine", 2)
    assert asked(skills) == []
