"""The tool that retires a skill: it asks a person on a card, and the answer retires it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import ConflictError, RefusedError
from core.tools import CallContext, Effect, ToolResult
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.cards.cards import Card
from runtime.statuses import CardKind
from skills.book import runs, versions
from skills.book.display_text import one_line
from skills.book.skill import Skill, get_skill
from skills.lifecycle import control, promotion

RETIRE_ACT = "retire_skill"


class RetireSkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=80)
    reason: str = Field(min_length=1, max_length=500)


class RetireSkill:
    """Open the card that asks; the tool itself deletes nothing."""

    name = RETIRE_ACT
    domain = "skills"
    effect = Effect.IRREVERSIBLE
    repeatable = True
    description = "Ask the person to confirm that a skill is taken away with its file. They answer on a card."
    arguments: type[BaseModel] = RetireSkillArguments

    def run(self, call: CallContext, arguments: RetireSkillArguments) -> ToolResult:
        with call.transaction("skill.retiring") as scope:
            skill = get_skill(scope, arguments.name)
            if skill.origin == "shipped":
                raise RefusedError(f"{skill.id} is shipped with Loopwright: a person can disable it")
            if skill.status == "retired":
                raise ConflictError(f"{skill.id} is retired already", status=skill.status)
            card = cards.open_card(
                scope,
                kind=CardKind.IRREVERSIBLE,
                title=f"Take the skill {skill.id} away?",
                body=_body(scope, skill, arguments.reason),
                options=cards.IRREVERSIBLE_OPTIONS,
                cause=call.call_id,
                task_id=call.task_id,
                turn_id=call.turn_id,
                subject={"act": RETIRE_ACT, "skill_id": skill.id, "version_id": skill.version_id},
            )
        return ToolResult({"card_id": card.id, "state": "waiting_for_approval"})


def answer_retire_card(scope: Scope, card: Card) -> None:
    """Delete the skill of a card that is answered with `confirm`, then deliver the answer.

    Raises ConflictError, which leaves the card open, if another version serves than when the card was opened.
    """
    if card.answer_option == "confirm":
        skill = promotion.lock_with_candidate(scope, str(card.subject["skill_id"]))
        if skill.version_id != card.subject["version_id"]:
            raise ConflictError(
                f"another version of {skill.id} serves since the question was asked: keep it, or ask again"
            )
        control.delete(scope, skill.id, str(card.answered_by))
    deliver_card_answer(scope, card)


def _body(scope: Scope, skill: Skill, reason: str) -> str:
    """Describe what will be deleted, and why in the agent's words."""
    version = versions.get_version(scope, skill.version_id) if skill.version_id is not None else None
    title = one_line(version.manifest.title) if version is not None else skill.id
    last = next(iter(runs.list_skill_runs(scope, skill.id, 1)), None)
    ran = f"It ran last at {last.began_at:%Y-%m-%d %H:%M} UTC." if last is not None else "It never ran."
    why = f"The agent says why: {one_line(reason)}"
    return f"“{title}” starts no more runs, and its file {skill.path} is removed. {ran}\n\n{why}"
