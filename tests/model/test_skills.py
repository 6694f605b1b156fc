"""The stand-in writes skills: it decides over real HTTP, and its calls are made by the real tools on a real book."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.clock import StoppedClock
from core.database import Database
from core.errors import LoopwrightError
from core.identity import HOME_WORKSPACE
from core.llm.openai_model import OpenAIModel
from core.llm.port import Decision
from core.orchestrator.engine import Engine
from core.tables import workspaces
from skills.book import drafts, skill, versions
from skills.folders import SHIPPED_FOLDER
from skills.format.manifest import read_manifest
from skills.format.problem import SkillProblem
from skills.lifecycle import promotion
from skills.review.handover import frame_data
from skills.review.sensitivity import read_tunables
from skills.tools import AgentSkillFolder, skill_tools
from skills.tools.folder import sha_of
from standins.model.rules.route import route
from tests.model.standin import Worker, call_names, parse_arguments
from tests.skills.agent import Agent, take_into_service
from tests.support.empty_database import lay_every_table

NEED = "Checkout turns slow after midnight and we only hear of it at breakfast."
TOOLS: tuple[str, ...] = (
    "set_brief",
    "create_checklist",
    "finish",
    "generate_image",
    "read_guide",
    "list_skills",
    "read_skill",
)
TOOLS += ("write_skill", "test_skill", "invoke_skill", "skill_runs", "retire_skill")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    clock = StoppedClock(datetime(2026, 7, 1, 12, tzinfo=UTC))
    lay_every_table(tmp_path / "book.sqlite")
    database = Database(f"sqlite:///{tmp_path / 'book.sqlite'}", clock=clock)
    with database.unscoped() as connection:
        row = {"id": HOME_WORKSPACE, "name": "home", "timezone": "UTC", "change_seq": 0, "created_at": clock.now()}
        connection.execute(sa.insert(workspaces).values(**row))
    yield database
    database.close()


@pytest.fixture
def desk(tmp_path: Path) -> AgentSkillFolder:
    return AgentSkillFolder(home=tmp_path / "home", patience_seconds=0)


class Author:
    """A task whose calls about skills are made for real; the sidecar takes what is good."""

    def __init__(self, model: OpenAIModel, database: Database, desk: AgentSkillFolder, goal: str) -> None:
        self.worker = Worker(model, tools=TOOLS, goal=goal)
        self.agent = Agent(database, skill_tools(desk, Engine.at("http://127.0.0.1:9")))
        self.database, self.desk = database, desk
        self.calls: list[str] = []
        self.summary = ""

    def work(self, text: str) -> str:
        """Until it answers without calls, at most twenty decisions."""
        self.worker.hear(text)
        for _ in range(20):
            decision = self.worker.decide()
            if not decision.calls:
                return decision.text
            self.calls += call_names(decision)
            self.worker.result(decision, *(self._result(decision, n) for n in range(len(decision.calls))))
        raise AssertionError(f"it never ends: {self.calls}")

    def _result(self, decision: Decision, n: int) -> dict[str, Any]:
        call = decision.calls[n]
        arguments = parse_arguments(call.arguments)
        match call.name:
            case "set_brief":
                self.worker.brief = arguments["brief"]
                return {"brief": "stored"}
            case "finish":
                self.summary = arguments["summary"]
                return {"summary": self.summary}
        try:
            result = self.agent.call(call.name, **arguments)
        except LoopwrightError as error:
            return {"error": error.code, "message": str(error)}
        if call.name == "write_skill" and result.content["written"]:
            take_into_service(self.database, self.desk, result.content["skill_id"])
            result = self.agent.call(call.name, self.agent.calls, **arguments)
        return dict(result.content)

    def source(self, stem: str) -> str:
        return self.desk.path(stem).read_text()


@pytest.fixture
def author(model: OpenAIModel, database: Database, desk: AgentSkillFolder) -> Author:
    return Author(model, database, desk, NEED)


def test_a_need_in_plain_words_becomes_two_live_skills(author: Author, database: Database) -> None:
    author.work(NEED + " Our Prometheus is at http://metrics.shop.example:9091, look every 15 minutes.")
    assert author.calls[:3] == ["set_brief", "read_guide", "list_skills"]
    assert author.calls.count("write_skill") == 2
    assert author.calls[-1] == "finish"
    with database.reading(HOME_WORKSPACE) as scope:
        live = {
            skill.id: versions.get_version(scope, skill.version_id or "")
            for skill in skill.list_skills(scope)
            if skill.serves
        }
        draft = drafts.find_draft(
            scope, "checkout_health_check", sha_of(author.source("checkout_health_check").encode())
        )
    assert sorted(live) == ["checkout_health_check", "checkout_incident_triage"]
    check = author.source("checkout_health_check")
    assert 'fn_id="infra-health-check"' in check
    assert 'fn_id="incident-triage"' in author.source("checkout_incident_triage")
    assert live["checkout_health_check"].manifest.permissions.hosts == ["metrics.shop.example:9091"]
    assert live["checkout_health_check"].manifest.permissions.invoke == [
        "skill-checkout_incident_triage/incident-triage"
    ]
    assert 'app_id="skill-checkout_incident_triage"' in check
    assert "http://metrics.shop.example:9091" in check
    assert 'cron="*/15 * * * *"' in check
    assert draft is not None
    assert "breakfast" in draft.reason
    assert "checkout_health_check (version 1) is live" in author.summary


def test_what_it_does_not_know_it_asks_for_and_changes_then(author: Author) -> None:
    author.work(NEED)
    (assumed,) = read_manifest(author.source("checkout_health_check").encode()).permissions.hosts
    assert assumed in author.summary
    author.work("The metrics are at http://10.0.0.7:9090/graph")
    for stem in ("checkout_incident_triage", "checkout_health_check"):
        assert assumed not in author.source(stem)
        assert '"hosts": ["10.0.0.7:9090"]' in author.source(stem)
    assert "version 2" in author.summary


def test_a_person_can_ask_for_fewer_alarms(author: Author) -> None:
    author.work(NEED)
    author.work("It is too sensitive, please make it less sensitive.")
    found = {one.name: one.value for one in read_tunables(author.source("checkout_health_check"))}
    assert found["SENSITIVITY"] == 0.8


def shipped_as(desk: AgentSkillFolder, database: Database, stem: str) -> None:
    """The shipped check, saved as a skill of the agent's."""
    desk.write(stem, (SHIPPED_FOLDER / "infra_health_check.py").read_bytes())
    take_into_service(database, desk, stem)


def test_the_answers_to_the_cards_are_heard(model: OpenAIModel, database: Database, desk: AgentSkillFolder) -> None:
    class Waiting(Author):
        def _result(self, decision: Decision, n: int) -> dict[str, Any]:
            told = super()._result(decision, n)
            return {**told, "status": "waiting", "card_id": f"card_{told['skill_id']}"} if "written" in told else told

    author = Waiting(model, database, desk, NEED)
    author.work(NEED)
    assert "checkout_health_check (version 1) waits for your permission" in author.summary
    for stem, option in (("checkout_incident_triage", "grant"), ("checkout_health_check", "refuse")):
        author.worker.inputs.append({"kind": "answer", "card_id": f"card_{stem}", "option": option, "text": ""})
    said = author.worker.decide()
    assert said.calls == ()
    assert "checkout_incident_triage (version 1) has your permission and goes live" in said.text
    assert "checkout_health_check (version 1) stays off" in said.text
    author.worker.inputs.append({"kind": "skill", "skill_id": "checkout_incident_triage", "version": 1, "problems": []})
    assert "checkout_incident_triage (version 1) does not serve after all" in author.worker.decide().text


@pytest.mark.parametrize(
    ("constant", "to"), [("SENSITIVITY", 0.71), ("SENSITIVITY", 1.6), ("DEGRADED_ABOVE.cpu_used", 0.9)]
)
def test_a_review_moves_exactly_the_number_it_names(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder, constant: str, to: float
) -> None:
    shipped_as(desk, database, "night_check")
    before = {one.name: one.value for one in read_tunables(desk.path("night_check").read_text())}
    data = {
        "kind": "skill_review",
        "skill_id": "night_check",
        "base_version": 1,
        "summary": "Six of eight alarms were false.",
        "prediction": {"measure": "false_alarm_rate", "was": 0.75, "expected": 0.375},
        "changes": [{"constant": constant, "line": 3, "from": before[constant], "to": to}],
    }
    reviewer = Author(model, database, desk, "Change the skill night_check as its review proposes")
    reviewer.work(f"A review of the skill `night_check` asks for a change.\n\n{frame_data(data)}")
    after = {one.name: one.value for one in read_tunables(reviewer.source("night_check"))}
    assert after == {**before, constant: to}
    assert reviewer.calls == ["read_skill", "read_skill", "write_skill", "finish"]
    with database.reading(HOME_WORKSPACE) as scope:
        second = versions.get_version_by_number(scope, "night_check", 2)
    assert "false_alarm_rate" in second.reason
    assert second.author == "agent"


def test_a_person_names_a_skill_that_is_broken_and_it_is_repaired(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder
) -> None:
    shipped_as(desk, database, "night_check")
    good = desk.path("night_check").read_text()
    broken = "import os\n" + good
    desk.path("night_check").write_text(broken)
    with database.transaction(HOME_WORKSPACE) as scope:
        problem = SkillProblem(1, "a skill may not import os", "do without it")
        promotion.refuse_version(scope, "night_check", sha_of(broken.encode()), (problem,))
    text = "The skill night_check has a problem: a skill may not import os. Please fix it."
    assert route({"message": {"text": text}})["outcome"] == "new"
    mender = Author(model, database, desk, text)
    mender.work(text)
    assert mender.source("night_check").strip() == good.strip()
    assert "night_check (version 2) is live" in mender.summary


def test_a_person_names_a_skill_and_how_it_should_alarm(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder
) -> None:
    shipped_as(desk, database, "night_check")
    text = "Make night_check more sensitive, it comes too late."
    mender = Author(model, database, desk, text)
    mender.work(text)
    assert {one.name: one.value for one in read_tunables(mender.source("night_check"))}["SENSITIVITY"] == 1.25


def test_a_person_names_a_skill_whose_run_failed(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder
) -> None:
    shipped_as(desk, database, "night_check")
    text = "The last run of the skill night_check failed (r_1). Please find out why and fix it."
    mender = Author(model, database, desk, text)
    mender.work(text)
    assert mender.calls == ["read_skill", "read_skill", "skill_runs", "finish"]


def test_a_person_names_a_skill_that_is_not_there(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder
) -> None:
    text = "Please fix night_check."
    mender = Author(model, database, desk, text)
    mender.work(text)
    assert mender.calls == ["read_skill", "finish"]


def test_problems_are_repaired_and_what_cannot_be_is_told(model: OpenAIModel) -> None:
    worker = Worker(model, tools=TOOLS, goal=NEED, brief="there")
    worker.hear(NEED)
    decision = worker.decide()
    worker.result(decision, {"text": "guide"}, {"skills": []})
    decision = worker.decide()
    assert call_names(decision) == ["read_skill", "read_skill"]
    page = {"page": 1, "pages": 1, "source": 'import os\nMANIFEST = {"permissions": {}}\n'}
    worker.result(decision, *[{"skill_id": parse_arguments(c.arguments)["name"], **page} for c in decision.calls])
    decision = worker.decide()
    assert call_names(decision) == ["write_skill"]
    problems = [
        {"line": 1, "reason": "a skill may not import os", "fix": "…"},
        {"line": 9, "reason": "the file waits for a/b, which its manifest does not name", "fix": "…"},
    ]
    worker.result(decision, {"written": False, "problems": problems})
    again = worker.decide()
    source = parse_arguments(again.calls[0].arguments)["source"]
    assert "import os" not in source
    assert '"listen": ["a/b"]' in source
    hopeless = [{"line": 2, "reason": "nobody understands this", "fix": "…"}]
    worker.result(again, {"written": False, "problems": hopeless})
    said = worker.decide()
    assert said.calls == ()
    assert "line 2: nobody understands this" in said.text


def test_a_repair_that_rules_cannot_make_changes_nothing(
    model: OpenAIModel, database: Database, desk: AgentSkillFolder
) -> None:
    shipped_as(desk, database, "night_check")
    before = desk.path("night_check").read_text()
    data = {"kind": "skill_repair", "skill_id": "night_check", "error": {"message": "KeyError: 'x'"}}
    mender = Author(model, database, desk, "Repair the skill night_check: its run r_1 failed")
    mender.work(f"A run of the skill `night_check` failed for good.\n\n{frame_data(data)}")
    assert mender.source("night_check") == before
    assert "KeyError" in mender.summary


@pytest.mark.parametrize(
    "text",
    [
        NEED,
        "Our services have latency spikes at night and nobody notices before morning.",
        "Can you watch the payments API? It goes down at weekends and nobody tells us.",
        "Nos services ont des pics de latence la nuit et personne ne le remarque avant le matin.",
    ],
)
def test_a_need_is_routed_to_a_task_of_its_own(text: str) -> None:
    assert route({"message": {"text": text}})["outcome"] == "new"


@pytest.mark.parametrize(
    "text",
    [
        "Make me a set of three retro posters for the Harbour Festival, navy and cream.",
        "Make a poster about our slow shop that nobody notices at night",
        "Which video lengths can you do?",
        "Change the file poster_final.png into a film",
        "Make me a set of two posters for the Bad_Arguments Fair, teal and coral.",
    ],
)
def test_other_wishes_are_no_need(text: str) -> None:
    said = route({"message": {"text": text}})
    assert not {"watched", "skill"} & set(" ".join(said["reasons"]).split())


def test_where_the_metrics_are_belongs_to_the_task_that_watches() -> None:
    tasks = [{"id": "t_1", "goal": "Make posters", "status": "active"}, {"id": "t_2", "goal": NEED, "status": "done"}]
    said = route({"message": {"text": "Our Prometheus is at http://10.0.0.7:9090"}, "tasks": tasks})
    assert (said["outcome"], said["task_id"]) == ("existing", "t_2")
