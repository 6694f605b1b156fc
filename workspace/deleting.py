"""Deletion of an object: a card asks a person, and the deletion follows their confirmation."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import ConflictError
from core.tools import CallContext, Effect, ToolResult
from runtime.cards import cards
from runtime.cards.answers import AnswerHandler, CardAct, deliver_card_answer
from runtime.cards.cards import Card
from runtime.statuses import CardKind
from workspace import objects

DELETE_ACT = "delete_object"


class DeleteObjectArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    object_id: str = Field(max_length=64)


class DeleteObject:
    """Open the card that asks; deletes nothing itself."""

    name = DELETE_ACT
    domain = "document"
    effect = Effect.IRREVERSIBLE
    repeatable = True
    description = "Ask the person to confirm that an object is deleted with all its versions. They answer on a card."
    arguments: type[BaseModel] = DeleteObjectArguments

    def run(self, call: CallContext, arguments: DeleteObjectArguments) -> ToolResult:
        with call.transaction() as scope:
            work = objects.check_current(scope, arguments.object_id, call.task_id)
            count = len(objects.list_versions(scope, work.id))
            card = cards.open_card(
                scope,
                kind=CardKind.IRREVERSIBLE,
                title=f"Delete “{work.title}”?",
                body=f"The {work.kind} “{work.title}” and its {_versions(count)} will be gone.",
                options=cards.IRREVERSIBLE_OPTIONS,
                cause=call.call_id,
                task_id=call.task_id,
                turn_id=call.turn_id,
                subject={"act": DELETE_ACT, "object_id": work.id, "version": work.version, "versions": count},
            )
        return ToolResult({"card_id": card.id, "state": "waiting_for_approval"})


def answer_delete_card(scope: Scope, card: Card) -> None:
    """Delete the object that the card names if the answer is `confirm`, then deliver the answer.

    Raises ConflictError, which leaves the card open, when the object has changed since the question.
    """
    if card.answer_option == "confirm":
        object_id, version = str(card.subject["object_id"]), int(card.subject["version"])
        if not objects.delete_object(scope, object_id, version=version):
            current = objects.get_object(scope, object_id)
            raise ConflictError(
                f"{current.title!r} is at version {current.version} now, and the question was about version {version}; "
                "keep it, or ask for the deletion again",
                current_version=current.version,
            )
    deliver_card_answer(scope, card)


WORKSPACE_CARD_ANSWERS: Mapping[CardAct, AnswerHandler] = {(CardKind.IRREVERSIBLE, DELETE_ACT): answer_delete_card}


def _versions(count: int) -> str:
    return "only version" if count == 1 else f"{count} versions"
