"""The task that wrote a version: lock it, let it wait for a card, and tell it of a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.database import Scope
from core.errors import NotFoundError
from runtime.cards import cards
from runtime.cards.answers import deliver_card_answer
from runtime.inbox import inbox
from runtime.statuses import ENDED_TASK_STATUSES, InputKind
from runtime.tasks import tasks, waits
from runtime.turns import ledger_queries, rows
from skills.book import versions
from skills.book.skill import get_skill
from skills.book.versions import CheckedVersion

_TRIED = frozenset(("dry_run", "shadow"))


def lock_author_task(scope: Scope, version: CheckedVersion) -> str | None:
    """Lock and return the task whose call wrote the version; None if a person wrote it or the task has ended."""
    task_id = _task_of(scope, version)
    if task_id is None or tasks.lock_task_with_turn(scope, task_id).status in ENDED_TASK_STATUSES:
        return None
    return task_id


def lock_version_card(scope: Scope, version: CheckedVersion) -> None:
    """Lock the card of a version, and first the task that wrote it, in the order in which an answer locks them."""
    lock_author_task(scope, version)
    if version.stage_facts.get("card_id"):
        cards.lock_card(scope, str(version.stage_facts["card_id"]))


def tell_author_of_refusal(scope: Scope, version: CheckedVersion) -> None:
    """Tell the task that wrote a version of a late refusal. Call it after `lock_version_card`.

    An early refusal is in the answer to `write_skill`, and failed runs are reported by `on-run-failed`.
    """
    late = version.stage in _TRIED or version.stage_facts.get("card_id")
    if late and (task_id := lock_author_task(scope, version)) is not None:
        inbox.deliver_input(scope, task_id, InputKind.SKILL, version.id)


def read_refused_input(scope: Scope, version_id: str) -> Mapping[str, Any]:
    """Return what a task reads about a refused version of its own, as JSON; raises NotFoundError."""
    version = versions.get_version(scope, version_id)
    skill = get_skill(scope, version.skill_id)
    problems = skill.problems if skill.refused_sha == version.sha else ()
    told = {"kind": InputKind.SKILL, "skill_id": skill.id, "version": version.number, "stage": version.stage}
    return {**told, "problems": [asdict(problem) for problem in problems]}


def withdraw_version_card(scope: Scope, card_id: str) -> None:
    """Supersede the card of a replaced version, and wake a task that waits for its answer."""
    if not cards.supersede_card(scope, card_id):
        return
    card = cards.get_card(scope, card_id)
    if card.task_id is None or rows.find_open_turn(scope, card.task_id) is not None:
        # An open turn reads at its end what it has to wait for.
        return
    wait = waits.find_wait(scope, card.task_id)
    if wait is not None and card_id in wait.refs:
        deliver_card_answer(scope, card)


def _task_of(scope: Scope, version: CheckedVersion) -> str | None:
    author, reference = version.offered_by
    if author != "agent" or reference is None:
        return None
    try:
        return rows.get_turn(scope, ledger_queries.get_call(scope, reference).turn_id).task_id
    except NotFoundError:
        return None
