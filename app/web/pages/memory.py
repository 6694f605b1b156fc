"""The page of the memory: facts with their sources and versions, to correct or forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, request

from app.web.api.memory import search_facts
from app.web.http import paging
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.view import render_page
from app.web.presenters.card import CardShape, card_shape
from app.web.presenters.fact import FactEvidence, fact_shapes
from core.database import Scope
from core.identity import Speaker
from memory import correcting, facts, forgetting, scopes
from memory.facts import MemoryFact
from runtime.cards import cards
from runtime.inbox import messages

_QUOTED = 300


def memory_page(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "memory_page")

    def show(speaker: Speaker) -> Response:
        query = request.args.get("q", "").strip()
        place = paging.requested_place()
        found = search_facts(dependencies, speaker, query) if query else None

        def fill(scope: Scope, _speaker: Speaker) -> dict[str, Any]:
            rows = (
                found
                if found is not None
                else facts.list_facts(
                    scope, scopes.visible_scopes(speaker.person_id), after=place, limit=paging.DEFAULT_PAGE + 1
                )
            )
            kept = rows[: paging.DEFAULT_PAGE]
            more = len(rows) > paging.DEFAULT_PAGE
            return {
                "facts": _facts_with_words(scope, kept),
                "next": paging.encode_cursor(kept[-1].updated_at, kept[-1].id) if more else None,
                "query": query,
                "cards": _memory_cards(scope, speaker.person_id),
            }

        return render_page(dependencies, speaker, "memory.html", fill)

    endpoints.serves("GET", "/memory", "A page", scope="read")(show, "memory")
    return endpoints


def _facts_with_words(scope: Scope, found: Sequence[MemoryFact]) -> list[dict[str, Any]]:
    """Return each fact with quotes from the messages it comes from."""
    shapes = fact_shapes(scope, found)
    ids = {proof["message_id"] for shape in shapes for proof in shape["evidence"] if "message_id" in proof}
    text_by_message = (
        {message.id: message.text[:_QUOTED] for message in messages.list_messages_by_ids(scope, sorted(ids))}
        if ids
        else {}
    )
    return [
        {**shape, "evidence": [_with_words(proof, text_by_message) for proof in shape["evidence"]]} for shape in shapes
    ]


def _with_words(proof: FactEvidence, text_by_message: Mapping[str, str]) -> dict[str, Any]:
    return {**proof, "words": text_by_message.get(proof.get("message_id", ""))}


def _memory_cards(scope: Scope, person_id: str) -> list[CardShape]:
    """Return the open cards about facts that this person may see."""
    open_cards = [
        card for card in cards.list_open_cards(scope) if card.act in (forgetting.FORGET_ACT, correcting.CORRECT_ACT)
    ]
    about = {card.id: [*card.subject.get("facts", {}), card.subject.get("fact_id", "")] for card in open_cards}
    known = facts.facts_by_ids(scope, [one for ids in about.values() for one in ids if one])
    return [
        card_shape(card)
        for card in open_cards
        if all(scopes.may_see(known[one].scope, person_id) for one in about[card.id] if one in known)
    ]
