"""Whose work a version is: the task that wrote it, which is told what a person says of it."""

from __future__ import annotations

from core.database import Scope
from core.errors import NotFoundError
from runtime import cards, tasks, waits
from runtime.turns import ledger, rows
from skills.versions import Version


def lock_task(scope: Scope, version: Version) -> str | None:
    """The task whose call wrote the version, locked; None when a person wrote it, or the task has ended."""
    if version.author != "agent" or version.author_ref is None:
        return None
    try:
        task_id = rows.get(scope, ledger.get_call(scope, version.author_ref).turn_id).task_id
    except NotFoundError:
        return None
    if task_id is None or tasks.lock(scope, task_id).status in tasks.ENDED:
        return None
    return task_id


def lock_card(scope: Scope, card_id: str) -> None:
    """Nobody answers the card until the transaction ends; its task is locked before, as an answer locks them."""
    card = cards.get(scope, card_id)
    if card.task_id is not None:
        tasks.lock_with_turn(scope, card.task_id)
    cards.lock(scope, card_id)


def ask_no_more(scope: Scope, card_id: str) -> None:
    """Something newer came: a task that waits for the answer is told that there will be none."""
    if not cards.supersede(scope, card_id):
        return
    card = cards.get(scope, card_id)
    if card.task_id is None or rows.open_turn_of(scope, card.task_id) is not None:
        # A turn that is open asks at its end what there is to wait for.
        return
    wait = waits.current(scope, card.task_id)
    if wait is not None and card_id in wait.refs:
        cards.deliver_answer(scope, card)
