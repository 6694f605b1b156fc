"""A skill with a past, in rows; and an engine that remembers only what a test tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from core.database import Scope
from core.llm.scripted_model import ScriptedModel
from core.orchestrator.run_history import EngineRun, RunPage
from runtime.cards.answers import CardAnswers, answer_card
from skills.book import outcomes, runs
from skills.book.runs import EndStatus
from skills.book.versions import CheckedVersion
from skills.card_answers import SKILL_CARD_ANSWERS
from skills.review import reviews, steps
from skills.review.dependencies import ReviewDependencies
from skills.review.reviews import Review
from tests.skills.saved_versions import save_live_version
from tests.support.databases import Store

SOURCE = "SENSITIVITY = 1.0\n"
QUESTION = ("real", "real but too late", "false alarm")


@dataclass
class ScriptedEngine:
    """An engine's history; by default it has forgotten everything."""

    kept: Sequence[EngineRun] = ()
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)

    def page(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RunPage:
        self.asked.append((function, since))
        assert status is None
        return RunPage(tuple(self.kept), None)


def review_dependencies(
    store: Store, *verdicts: dict[str, object], engine: ScriptedEngine | None = None
) -> ReviewDependencies:
    return ReviewDependencies(store.database, ScriptedModel(verdicts=verdicts), engine or ScriptedEngine())


def save_skill(store: Store, stem: str = "watch", author: str = "agent") -> CheckedVersion:
    """A skill whose version serves."""
    with store.database.transaction(store.workspace_id) as scope:
        return save_live_version(scope, stem, SOURCE, author)


def record_past_runs(
    store: Store, version: CheckedVersion, count: int, said: Sequence[str | None] = (), status: EndStatus = "completed"
) -> None:
    """So many runs, half an hour apart; the first ones asked people, who said so (None: nobody answered)."""
    for n in range(count):
        with store.database.transaction(store.workspace_id) as scope:
            begin_run(scope, version, f"{version.id}-run{n}")
            if n < len(said):
                ask_about_alarm(store, scope, version, f"{version.id}-run{n}", said[n])
            store.clock.advance(timedelta(seconds=2))
        with store.database.transaction(store.workspace_id) as scope:
            error = {"name": "KeyError", "message": "'x'"} if status == "failed" else None
            runs.record_run_end(
                scope, f"{version.id}-run{n}", status, output={"measured": 1.5}, error=error, attempts=1
            )
        store.clock.advance(timedelta(minutes=30))


def begin_run(scope: Scope, version: CheckedVersion, run_id: str, **inngest: str) -> None:
    data = {"_inngest": inngest} if inngest else {}
    runs.record_run_start(
        scope,
        run_id=run_id,
        skill_id=version.skill_id,
        function_id="work",
        version_id=version.id,
        stage="live",
        event={"name": "a/b", "data": data},
    )


def ask_about_alarm(store: Store, scope: Scope, version: CheckedVersion, run_id: str, said: str | None) -> None:
    """A question of a run to people, and a person's answer."""
    card = outcomes.open_question_card(
        scope,
        skill_id=version.skill_id,
        version_id=version.id,
        run_id=run_id,
        text="something is slow",
        answers=QUESTION,
        cause=f"ask:{run_id}",
    )
    if said is not None:
        answer_card(scope, card.id, said, None, store.person_id, CardAnswers(SKILL_CARD_ANSWERS))


def run_review(store: Store, made: ReviewDependencies, stem: str = "watch") -> Review:
    """A whole review, step by step as the durable function does it, each step twice."""
    with store.database.transaction(store.workspace_id) as scope:
        review = reviews.request_review(scope, stem, scope.ids.new("cause"))
    for step in (steps.gather_facts, steps.judge_review, steps.act_on_review):
        step(made, store.workspace_id, review.id)
        step(made, store.workspace_id, review.id)
    with store.database.reading(store.workspace_id) as scope:
        return reviews.get_review(scope, review.id)


def change_verdict(**told: object) -> dict[str, object]:
    """A verdict that wants less sensitivity, on the evidence of the first run."""
    base: dict[str, object] = {"decision": "change", "summary": "Too many false alarms.", "measure": "false_alarm_rate"}
    base |= {"sensitivity": "less_sensitive", "numbers": [{"constant": "SENSITIVITY", "value": 0.7}], "expected": 0.3}
    return {**base, **told}
