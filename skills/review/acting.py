"""What a judged review does: it says what came of the last change, and gives the agent the next one to write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from runtime import notices
from runtime.tasks import tasks
from skills import book, versions
from skills.review import changes, rows
from skills.review.comparison import Comparison, prediction_of
from skills.review.handover import hand_over
from skills.review.parts import ReviewParts
from skills.review.rows import Review

_OWN = "It is tried before it serves."
_OF_THE_RELEASE = (
    "It ships with Loopwright: its file stays as it is, and write_skill keeps your change as a version of this "
    "workspace. It is tried before it serves."
)
_OF_A_PERSON = (
    "It is a person's own file: write_skill asks them on a card; save it with the card once they accept, and leave it "
    "as it is if they refuse."
)
PATIENCE = timedelta(days=14)
"""So long an earlier proposal's task is left alone while it is at work."""


def act(parts: ReviewParts, workspace_id: str, review_id: str) -> str:
    """Do what the stored verdict says, once, in one transaction; answers `proposed`, `kept` or `done`."""
    with parts.database.transaction(workspace_id, "review.done") as scope:
        review = rows.get(scope, review_id)
        book.locked(scope, review.skill_id)
        review = rows.get(scope, review_id)
        if review.state != "judged":
            return review.state
        verdict = dict(review.verdict or {})
        proposal = verdict.get("proposal")
        obstacle = _obstacle(scope, review) if proposal is not None else None
        told = _compared(review)
        values: dict[str, Any] = {}
        if proposal is not None and obstacle is None:
            told.append(_proposed(proposal))
            match book.get(scope, review.skill_id).origin:
                case "person":
                    values["task_id"] = _ask_for_a_draft(scope, review, proposal, _OF_A_PERSON)
                    told.append("The agent is asked to write it; a card asks before the file is changed.")
                case "shipped":
                    values["task_id"] = _ask_for_a_draft(scope, review, proposal, _OF_THE_RELEASE)
                    told.append("The agent is asked to write it; the shipped file stays as it is.")
                case _:
                    values["task_id"] = _ask_for_a_draft(scope, review, proposal, _OWN)
                    told.append("The agent is asked to write it.")
        elif obstacle is not None:
            values["verdict"] = {**verdict, "reason": obstacle}
        if told:
            text = f"Review of {review.skill_id}: {' '.join(told)}"
            notices.store_notice(scope, "ops", text, f"review:{review.id}", values.get("task_id"))
        rows.move(scope, review_id, "done", was="judged", **values)
        return "proposed" if proposal is not None and obstacle is None else "kept"


def _obstacle(scope: Scope, review: Review) -> str | None:
    """Why a proposal is not handed on."""
    skill = book.get(scope, review.skill_id)
    if not skill.serves or skill.version_id != review.version_id:
        return "the skill has changed meanwhile"
    if skill.candidate_id is not None:
        return "another change of it is being tried"
    if changes.go_in_circles(review.facts.get("changes") or []):
        return "its last changes did not hold: a person looks at it now"
    for earlier in rows.of_skill(scope, review.skill_id):
        if earlier.task_id is None or earlier.id == review.id or earlier.at < scope.now - PATIENCE:
            continue
        if _is_open(scope, earlier.task_id):
            return "the agent is still at work on an earlier proposal"
    return None


def _is_open(scope: Scope, task_id: str) -> bool:
    try:
        return tasks.get_task(scope, task_id).status in tasks.OPEN_TASK_STATUSES
    except NotFoundError:
        return False


def _ask_for_a_draft(scope: Scope, review: Review, proposal: Mapping[str, Any], after: str) -> str:
    version = versions.get(scope, review.version_id or "")
    data = {"kind": "skill_review", "review_id": review.id, "skill_id": review.skill_id, **proposal}
    data |= {"base_version": version.number, "base_version_id": version.id}
    order = (
        f"A review of the skill `{review.skill_id}` asks for a change. Read the skill with read_skill, change in it "
        f"only what is proposed here, ask for no new permission, and save it with write_skill upon version "
        f"{version.number}, with the summary and the prediction as its reason. {after}"
    )
    goal = f"Change the skill {review.skill_id} as its review proposes"
    return hand_over(scope, goal=goal, order=order, data=data, version=version, cause=f"review:{review.id}").id


def _compared(review: Review) -> list[str]:
    told = review.comparison
    if told is None or told.get("outcome") == "too_few":
        return []
    done = Comparison(str(told["review_id"]), prediction_of(told), str(told["outcome"]), told.get("happened"))
    return [f"After the last change, {done.in_words()}"]


def _proposed(proposal: Mapping[str, Any]) -> str:
    moves = [f"{one['constant']} from {one['from']:g} to {one['to']:g}" for one in proposal["changes"]]
    what = "; ".join([*moves, proposal["words"]] if proposal["words"] else moves)
    expected = prediction_of(proposal["prediction"]).in_words()
    return f"{proposal['summary']} Proposed: {what}. Expected: {expected}."
