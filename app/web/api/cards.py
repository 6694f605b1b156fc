"""Cards and their answers."""

from __future__ import annotations

from flask import request
from pydantic import Field

from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.card import CardShape, card_by_id, card_shape
from core.database import Scope
from core.errors import InvalidError
from core.identity import Speaker
from runtime.cards import answers, cards
from runtime.statuses import CardState


class AnswerCard(Body):
    option: str = Field(max_length=80)
    text: str | None = Field(default=None, max_length=20_000)


def cards_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "cards_api")

    @endpoints.reads(
        "/api/v1/cards",
        "Cards, oldest first; `state=open` for those that wait",
        query={"state": "only cards in this state", "task_id": "only cards of this task", **paging.PAGING_QUERY},
    )
    def list_cards(scope: Scope, speaker: Speaker) -> paging.ListPage[CardShape]:
        size = paging.page_size()
        state = request.args.get("state")
        if state is not None and state not in set(CardState):
            raise InvalidError(f"state is one of {', '.join(CardState)}, not {state!r}")
        found = cards.list_cards(
            scope,
            state=None if state is None else CardState(state),
            task_id=request.args.get("task_id"),
            limit=size + 1,
            after=paging.requested_place(),
        )
        return paging.cut_page(found, size, card_shape, lambda card: (card.created_at, card.id))

    @endpoints.reads("/api/v1/cards/<card_id>", "A card")
    def get_card(scope: Scope, speaker: Speaker, card_id: str) -> CardShape:
        return card_by_id(scope, card_id)

    @endpoints.acts(
        "/api/v1/cards/<card_id>/answer",
        "Decide; a second answer gets 409 with the first. Money, permissions and what cannot be undone take a person",
        body=AnswerCard,
        scope="approve",
    )
    def answer_card(scope: Scope, speaker: Speaker, body: AnswerCard, card_id: str) -> CardShape:
        answered = answers.answer_card(
            scope,
            card_id,
            body.option,
            body.text,
            speaker.person_id,
            dependencies.card_answers,
            speaks_as=speaker.speaks_as,
        )
        return card_shape(answered)

    return endpoints
