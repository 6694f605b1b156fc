"""A workspace with a memory in it: real rows, a scripted model, and no index unless a test brings one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from core.llm.scripted_model import ScriptedModel
from core.search.dependencies import SearchDependencies
from core.search.embedders import HashedPieces
from core.search.index import NoIndex, VectorIndex
from core.search.tables import search_entries
from memory import cascade, facts, forgetting, keeping, looking, readings, receipts, scopes, tables
from memory.card_answers import MEMORY_CARD_ANSWERS
from memory.dependencies import MemoryDependencies
from memory.facts import Evidence, MemoryFact, RememberedVersion
from memory.recall import Recalled, recall
from memory.receipts import Receipt
from runtime.cards.answers import CardAnswers, answer_card
from runtime.cards.cards import Card
from runtime.inbox import messages
from runtime.statuses import TurnStatus
from runtime.tables import cards as card_rows
from runtime.tables import messages as message_rows
from runtime.turns.rows import Turn
from tests.support.databases import Store

_KEPT = (
    tables.facts, tables.fact_versions, tables.evidence, tables.suppressions, tables.forgets, tables.readings,
    tables.candidates, search_entries, card_rows,
)  # fmt: skip
ANSWERS = CardAnswers(MEMORY_CARD_ANSWERS)


@dataclass
class MemoryWorld:
    store: Store
    model: ScriptedModel = field(default_factory=ScriptedModel)
    index: VectorIndex = field(default_factory=NoIndex)

    def __post_init__(self) -> None:
        search = SearchDependencies(self.store.database, HashedPieces(), self.index)
        self.dependencies = MemoryDependencies(self.store.database, self.model, search)

    @property
    def workspace_id(self) -> str:
        return self.store.workspace_id

    def say(
        self,
        text: str,
        *,
        task_id: str | None = None,
        asked_by: str = "person",
        author: str = "user",
        person_id: str | None = None,
    ) -> str:
        """A message that a turn has read; answers its id."""
        self.store.clock.advance(timedelta(seconds=1))
        with self.store.database.transaction(self.workspace_id) as scope:
            message = messages.receive_message(
                scope, person_id=person_id or self.store.person_id, asked_by=asked_by, channel_id=None, text=text
            )
            scope.change(
                scope.update(message_rows)
                .where(message_rows.c.id == message.id)
                .values(author=author, task_id=task_id, state="answered")
            )
            readings.note_read(scope, _turn(self.store, message.id), [message.id])
        return message.id

    def foresee(self, *found: dict[str, Any] | object) -> None:
        """Let the model propose these candidates next."""
        self.model._verdicts.append({"candidates": list(found)})

    def remember(self) -> list[str]:
        """What one run of the function does; answers what became of each candidate."""
        self.store.clock.advance(timedelta(seconds=1))
        waiting = looking.read_due_messages(self.dependencies, self.workspace_id, "run-1")
        return [keeping.judge_candidate(self.dependencies, self.workspace_id, one) for one in waiting]

    def learn(self, text: str, *found: dict[str, Any], task_id: str | None = None) -> str:
        """Say something and let it be remembered; answers the message's id."""
        message_id = self.say(text, task_id=task_id)
        self.foresee(*(found or ({"text": text, "evidence": [1]},)))
        self.remember()
        return message_id

    def facts(self) -> list[MemoryFact]:
        """What is remembered, oldest first."""
        with self.store.database.reading(self.workspace_id) as scope:
            found = facts.list_facts(scope, scopes.visible_scopes(self.store.person_id))
        return sorted(found, key=lambda fact: (fact.created_at, fact.id))

    def texts(self) -> list[str]:
        return [fact.text for fact in self.facts()]

    def only(self) -> MemoryFact:
        [fact] = self.facts()
        return fact

    def versions(self, fact_id: str) -> list[RememberedVersion]:
        with self.store.database.reading(self.workspace_id) as scope:
            return list(reversed(facts.versions_of(scope, fact_id)))

    def evidence(self, fact_id: str) -> list[Evidence]:
        with self.store.database.reading(self.workspace_id) as scope:
            return facts.evidence_of(scope, fact_id)

    def recall(self, query: str, within: Sequence[str] | None = None, **more: Any) -> Recalled:
        where = scopes.visible_scopes(self.store.person_id) if within is None else within
        return recall(self.dependencies.search, self.workspace_id, where, query, **more)

    def recalled(self, query: str) -> list[str]:
        return [fact.text for fact, _score in self.recall(query).items]

    def refusals(self) -> list[str]:
        with self.store.database.reading(self.workspace_id) as scope:
            rows = scope.rows(scope.select(tables.candidates).order_by(tables.candidates.c.created_at))
        return [row.reason for row in rows if row.state == "refused"]

    def ask_to_forget(self, *fact_ids: str) -> Card:
        with self.store.database.transaction(self.workspace_id) as scope:
            return forgetting.ask_to_forget(scope, fact_ids, self.store.person_id, cause=scope.ids.new("cause"))

    def answer(self, card: Card, option: str) -> Card:
        with self.store.database.transaction(self.workspace_id) as scope:
            return answer_card(scope, card.id, option, None, self.store.person_id, ANSWERS)

    def forget(self, *fact_ids: str) -> Receipt:
        """Ask, confirm and clear; answers the receipt."""
        card = self.ask_to_forget(*fact_ids)
        self.answer(card, "confirm")
        cascade.clear_forgotten(self.dependencies, self.workspace_id, card.id)
        return self.receipt(card.id)

    def receipt(self, card_id: str) -> Receipt:
        with self.store.database.reading(self.workspace_id) as scope:
            return receipts.get_receipt(scope, card_id)

    def everything(self) -> str:
        """All rows of the room and of search as one text, for looking whether a word is in any of them."""
        with self.store.database.reading(self.workspace_id) as scope:
            return "\n".join(str(tuple(row)) for table in _KEPT for row in scope.rows(scope.select(table)))


def asked_facts(model: ScriptedModel) -> dict[str, Any]:
    """What the model was shown in its last question."""
    content = str(model.requests[-1][0][-1]["content"])
    shown: dict[str, Any] = json.loads(content.partition("<facts>")[2].rpartition("</facts>")[0])
    return shown


def _turn(store: Store, message_id: str) -> Turn:
    now = store.clock.now()
    return Turn(
        id=f"turn_{message_id}", task_id=None, message_id=message_id, cause="", status=TurnStatus.COMPLETED, reason="",
        epoch=1, ring=0, run_id=None, lease_token=None, lease_until=None, touched_at=now, rung_at=now, created_at=now,
        started_at=now, ended_at=now,
    )  # fmt: skip
