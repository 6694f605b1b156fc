"""First half of remembering: the model reads messages that are due, and its candidates are stored."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

from core import leases
from core.database import Scope
from core.errors import ConflictError, ModelError, UnavailableError
from memory import candidates, readings, scopes, verdict
from memory.dependencies import MemoryDependencies
from memory.facts import MemoryFact
from memory.recall import recall
from runtime.inbox.messages import Message

log = logging.getLogger(__name__)
_LEASE = timedelta(seconds=60)
# Facts that a question offers: at most so many in all, and so many for each message.
_OFFERED, _OFFERED_EACH = 20, 5
# Questions to the model in one call of `read_due_messages`.
_MOST_QUESTIONS = 10


def read_due_messages(dependencies: MemoryDependencies, workspace_id: str, run_id: str) -> list[str]:
    """Read the messages that are due, one person at a time, and return the candidates that wait for judgement.

    While another execution reads, this one reads nothing, and only returns what waits. When the model is unavailable or
    its answer is unusable, the messages stay due, and the watch rings for them.
    """
    with leases.hold_lease(dependencies.database, f"remember:{workspace_id}"[:64], run_id[:64], _LEASE) as acquired:
        for _ in range(_MOST_QUESTIONS if acquired else 0):
            if not _read_due(dependencies, workspace_id):
                break
    with dependencies.database.reading(workspace_id) as scope:
        return candidates.pending_candidates(scope)


def _read_due(dependencies: MemoryDependencies, workspace_id: str) -> bool:
    """Read the due messages of one person; False when there were none or they could not be read now."""
    with dependencies.database.reading(workspace_id) as scope:
        said = readings.due_messages(scope)
    if not said:
        return False
    known = _facts_to_offer(dependencies, workspace_id, said)
    try:
        answer = dependencies.model.verdict(verdict.NAME, verdict.Candidates, verdict.candidates_question(said, known))
    except UnavailableError as error:
        log.warning("remember: the model is away: %s", error)
        return False
    except ModelError as error:
        log.warning("remember: the model gave no usable verdict: %s", error)
        with dependencies.database.transaction(workspace_id, "memory.unread") as scope:
            readings.mark_failed(scope, [one.id for one in said])
        return False
    try:
        with dependencies.database.transaction(workspace_id, "memory.read") as scope:
            _store_candidates(scope, said, verdict.check_candidates(answer, said, known))
    except ConflictError as error:
        log.info("remember: %s", error)
        return False
    return True


def _store_candidates(scope: Scope, said: Sequence[Message], found: Sequence[verdict.Checked]) -> None:
    if not readings.mark_read(scope, [one.id for one in said]):
        raise ConflictError("a message was revoked while the model read it: the others are read again without it")
    candidates.store_candidates(scope, said[0].person_id, found)


def _facts_to_offer(dependencies: MemoryDependencies, workspace_id: str, said: Sequence[Message]) -> list[MemoryFact]:
    """Return the facts nearest to these messages, which the model may name in its answer."""
    found: dict[str, MemoryFact] = {}
    for message in said:
        within = scopes.visible_scopes(message.person_id, message.task_id)
        near = recall(
            dependencies.search,
            workspace_id,
            within,
            message.text,
            limit=_OFFERED_EACH,
            seconds=dependencies.within,
            least=0.0,
        )
        found |= {fact.id: fact for fact, _score in near.items}
    return list(found.values())[:_OFFERED]
