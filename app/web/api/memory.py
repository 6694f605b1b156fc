"""The memory: show facts and their evidence, correct and forget them."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Response, jsonify, request
from pydantic import Field
from typing_extensions import TypedDict

from app.web.http import paging
from app.web.http.authorization import require_person
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import Body
from app.web.presenters.fact import FactShape, ReceiptShape, fact_by_id, fact_shapes, receipt_shape
from core.database import Scope
from core.errors import InvalidError, NotFoundError
from core.identity import Speaker
from core.search import index_sync
from core.search.vectors import Vector
from memory import correcting, facts, forgetting, receipts, scopes
from memory.fact_text import clean_fact_text
from memory.facts import MemoryFact
from memory.recall import MOST, recall

REBUILD_SECONDS = 20.0


class Correction(Body):
    text: str = Field(min_length=1, max_length=2000)


class PreparedCorrection(Body):
    """The new text with its vector."""

    text: str
    vector: Vector


class AskedOn(TypedDict):
    """The open card that asks for confirmation."""

    card_id: str


class Rebuilt(TypedDict):
    state: str


def memory_api(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "memory_api")
    _register_list(endpoints)
    _register_commands(endpoints)

    @endpoints.reads("/api/v1/memory/<fact_id>", "A fact with its versions and the evidence for them")
    def get_fact(scope: Scope, speaker: Speaker, fact_id: str) -> FactShape:
        return fact_by_id(scope, fact_id, speaker.person_id)

    @endpoints.reads("/api/v1/memory/receipts/<card_id>", "What became of a forget, and the proof that nothing is left")
    def get_receipt(scope: Scope, speaker: Speaker, card_id: str) -> ReceiptShape:
        receipt = receipts.get_receipt(scope, card_id)
        if receipt.person_id != speaker.person_id:
            raise NotFoundError(f"nothing was forgotten on the card {card_id}")
        return receipt_shape(receipt)

    return endpoints


def search_facts(dependencies: WebDependencies, speaker: Speaker, query: str) -> list[MemoryFact]:
    """Return the facts that match, best first: the person's own and the workspace's."""
    where = scopes.visible_scopes(speaker.person_id)
    found = recall(dependencies.search, speaker.workspace_id, where, query[:2000], limit=MOST)
    return [fact for fact, _score in found.items]


def _register_list(endpoints: Endpoints) -> None:
    def list_facts(speaker: Speaker) -> Response:
        query = request.args.get("q", "").strip()
        size, place, at = paging.page_size(), paging.requested_place(), _requested_time()
        # Recall is slow (model and index), so it runs outside the transaction.
        found = search_facts(endpoints.dependencies, speaker, query) if query else []
        with endpoints.dependencies.database.reading(speaker.workspace_id) as scope:
            if query:
                return _uncached_json(paging.ListPage(items=fact_shapes(scope, found), next=None))
            where = scopes.visible_scopes(speaker.person_id)
            rows = facts.list_facts(scope, where, at=at, after=place, limit=size + 1)
            shapes = {shape["id"]: shape for shape in fact_shapes(scope, rows[:size])}
            return _uncached_json(
                paging.cut_page(rows, size, lambda row: shapes[row.id], lambda row: (row.updated_at, row.id))
            )

    endpoints.serves(
        "GET",
        "/api/v1/memory",
        "Facts, newest first; `q=` matches, `at=` what was true at a time",
        scope="read",
        answers=paging.ListPage[FactShape],
        query={"q": "words or a question", "at": "what was true at this time", **paging.PAGING_QUERY},
    )(list_facts, "list_facts")


def _register_commands(endpoints: Endpoints) -> None:
    path = "/api/v1/memory/<fact_id>"

    @endpoints.acts(
        f"{path}/forget", "Ask on a card whether it is forgotten; nothing is before it is confirmed", status=202
    )
    def forget_fact(scope: Scope, speaker: Speaker, body: object, fact_id: str) -> AskedOn:
        return {"card_id": forgetting.ask_to_forget_once(scope, fact_id, speaker.person_id).id}

    def prepare(speaker: Speaker, body: Correction, fact_id: str) -> PreparedCorrection:
        require_person(speaker, "say what a person means")
        text = clean_fact_text(body.text)
        [vector] = endpoints.dependencies.search.embedder.embed([text])
        return PreparedCorrection(text=text, vector=vector)

    @endpoints.acts(f"{path}/correct", "Replace its text", body=Correction, prepare=prepare)
    def correct_fact(scope: Scope, speaker: Speaker, body: PreparedCorrection, fact_id: str) -> FactShape:
        cause = scope.ids.new("correction")
        correcting.correct_fact(scope, fact_id, body.text, body.vector, speaker.person_id, cause)
        return fact_by_id(scope, fact_id, speaker.person_id)

    def rebuild(speaker: Speaker, body: object) -> str:
        return index_sync.rebuild_index(
            endpoints.dependencies.search, speaker.workspace_id, within=REBUILD_SECONDS
        ).value

    @endpoints.acts(
        "/api/v1/memory/reindex", "Rebuild the search index from the database", prepare=rebuild, scope="admin"
    )
    def reindex(scope: Scope, speaker: Speaker, body: str) -> Rebuilt:
        return {"state": body}


def _requested_time() -> datetime | None:
    raw = request.args.get("at")
    if not raw:
        return None
    try:
        found = datetime.fromisoformat(raw)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidError("at is a time such as 2026-03-01T12:00:00Z") from None


def _uncached_json(value: paging.ListPage[FactShape]) -> Response:
    answer = jsonify(value)
    answer.headers["Cache-Control"] = "no-store"
    return answer
