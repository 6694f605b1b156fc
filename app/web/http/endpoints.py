"""Endpoints that need a key: check who asks, read the input, and answer, once per Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_type_hints

from flask import Blueprint, Response, jsonify, request
from pydantic import BaseModel
from werkzeug.wrappers import Response as AnyResponse

from app.web.http import idempotency
from app.web.http.authorization import require_scope, speaker_of_request
from app.web.http.dependencies import WebDependencies
from app.web.http.inputs import JSON_LIMIT, Body, EmptyBody, read_json_body
from core.database import Scope
from core.errors import InvalidError
from core.identity import Speaker

NO_QUERY: Mapping[str, str] = MappingProxyType({})
HandlerAnswer = Mapping[str, Any] | Response
View = Callable[..., AnyResponse]


@dataclass(frozen=True)
class RouteRule:
    """One route as the API's description shows it."""

    method: str
    path: str
    scope: str
    summary: str
    body: type[BaseModel] | None
    status: int
    query: Mapping[str, str] = field(default_factory=lambda: NO_QUERY)
    """What may stand in the query, and what it means."""
    takes_file: bool = False
    answers: Any = None
    """The type that its answer in JSON has; None where it answers something else, in the media type `media`."""
    media: str = "application/json"


class Endpoints:
    """Registers routes on a blueprint and enforces key, scope and role before anything else is looked at."""

    def __init__(self, dependencies: WebDependencies, name: str) -> None:
        self.dependencies = dependencies
        self.blueprint = Blueprint(name, __name__)
        self.rules: list[RouteRule] = []

    def reads(
        self, path: str, summary: str, *, scope: str = "read", query: Mapping[str, str] = NO_QUERY
    ) -> Callable[[Callable[..., HandlerAnswer]], None]:
        """A GET: `handler(scope, speaker, **arguments)` in one consistent view of the speaker's workspace."""

        def register(handler: Callable[..., HandlerAnswer]) -> None:
            def view(speaker: Speaker, **arguments: str) -> Response:
                with self.dependencies.database.reading(speaker.workspace_id) as reading:
                    return _send_answer(handler(reading, speaker, **arguments), 200)

            described = self.serves("GET", path, summary, scope=scope, query=query, answers=_answer_type(handler))
            described(view, handler.__name__)

        return register

    def acts(
        self,
        path: str,
        summary: str,
        *,
        body: type[Body] = EmptyBody,
        read: Callable[[], Body] | None = None,
        prepare: Callable[..., Any] | None = None,
        method: str = "POST",
        scope: str = "write",
        status: int = 200,
        limit: int = JSON_LIMIT,
        told_once: str | None = None,
        takes_file: bool = False,
    ) -> Callable[[Callable[..., Mapping[str, Any]]], None]:
        """A command: `handler(scope, speaker, body, **arguments)` in one transaction, once per Idempotency-Key.

        `read` reads the body in its own way. What is slow happens before the transaction begins: in `read`, or in
        `prepare(speaker, body, **arguments)`, whose result is then handed to the handler in the body's place.
        `told_once` names a member of the answer that is not kept, so a repeated answer has null there.
        """

        def register(handler: Callable[..., Mapping[str, Any]]) -> None:
            def view(speaker: Speaker, **arguments: str) -> Response:
                sent = read() if read is not None else read_json_body(body)
                endpoint = f"{method} {path}"
                facts = {"arguments": arguments, "body": sent.model_dump(mode="json")}
                ask = idempotency.keyed_request(endpoint, speaker.person_id, facts) if method == "POST" else None
                kept = self._kept(speaker, ask)
                if kept is not None:
                    return _send_answer(kept.body, kept.status)
                ready = prepare(speaker, sent, **arguments) if prepare is not None else sent

                def handle(scope: Scope) -> Mapping[str, Any]:
                    return handler(scope, speaker, ready, **arguments)

                return self._act(speaker, ask, status, handle, told_once, f"web.{handler.__name__}")

            described = self.serves(
                method,
                path,
                summary,
                scope=scope,
                body=body,
                status=status,
                limit=limit,
                takes_file=takes_file,
                answers=_answer_type(handler),
            )
            described(view, handler.__name__)

        return register

    def serves(
        self,
        method: str,
        path: str,
        summary: str,
        *,
        scope: str,
        body: type[BaseModel] | None = None,
        status: int = 200,
        limit: int = JSON_LIMIT,
        query: Mapping[str, str] = NO_QUERY,
        takes_file: bool = False,
        answers: Any = None,
        media: str = "application/json",
    ) -> Callable[[View, str], None]:
        """Any other route: `view(speaker, **arguments)` makes the whole response itself."""

        def register(view: View, name: str) -> None:
            guarded = self.guard(scope, view, limit)
            self.blueprint.add_url_rule(path, f"{method.lower()}_{name}", guarded, methods=[method])
            shown = None if body is EmptyBody else body
            self.rules.append(RouteRule(method, path, scope, summary, shown, status, query, takes_file, answers, media))

        return register

    def guard(self, scope: str, view: View, limit: int = JSON_LIMIT) -> View:
        """`view(speaker, **arguments)` behind the check of key, scope and role."""

        def guarded(**arguments: str) -> AnyResponse:
            request.max_content_length = limit
            speaker = speaker_of_request(self.dependencies.database)
            require_scope(speaker, scope)
            _refuse_nul()
            return view(speaker, **arguments)

        return guarded

    def _kept(self, speaker: Speaker, ask: idempotency.KeyedRequest | None) -> idempotency.KeptAnswer | None:
        if ask is None:
            return None
        with self.dependencies.database.reading(speaker.workspace_id) as scope:
            return idempotency.find_kept_answer(scope, ask)

    def _act(
        self,
        speaker: Speaker,
        ask: idempotency.KeyedRequest | None,
        status: int,
        handle: Callable[[Scope], Mapping[str, Any]],
        told_once: str | None,
        name: str,
    ) -> Response:
        with self.dependencies.database.transaction(speaker.workspace_id, name) as scope:
            kept = None if ask is None else idempotency.claim_request_key(scope, ask)
            if kept is None:
                kept = idempotency.KeptAnswer(status, dict(handle(scope)))
                if ask is not None:
                    secret = {} if told_once is None else {told_once: None}
                    idempotency.keep_answer(scope, ask, idempotency.KeptAnswer(status, {**kept.body, **secret}))
        return _send_answer(kept.body, kept.status)


def _answer_type(handler: Callable[..., HandlerAnswer]) -> Any:
    """The type that a handler says it answers: what checks its code describes its answers too."""
    return get_type_hints(handler, include_extras=True)["return"]


def _refuse_nul() -> None:
    # No id or word holds one, and some databases fail on it.
    if "\0" in request.path or any("\0" in value for value in request.args.values()):
        raise InvalidError("the address holds a NUL character: remove it")


def _send_answer(answer: HandlerAnswer, status: int) -> Response:
    if isinstance(answer, Response):
        return answer
    response = jsonify(answer)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response
