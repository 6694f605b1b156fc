"""Endpoints that need a key: check it, read the input, and answer, once per Idempotency-Key."""

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
    """A route as the API's description shows it."""

    method: str
    path: str
    scope: str
    summary: str
    body: type[BaseModel] | None
    status: int
    query: Mapping[str, str] = field(default_factory=lambda: NO_QUERY)
    """The query's parameters and their meaning."""
    takes_file: bool = False
    answers: Any = None
    """The type of its JSON answer; None if it answers in another media type, `media`."""
    media: str = "application/json"


class Endpoints:
    """A group of routes on a blueprint. Key, scope and role are checked before anything else."""

    def __init__(self, dependencies: WebDependencies, name: str) -> None:
        self.dependencies = dependencies
        self.blueprint = Blueprint(name, __name__)
        self.rules: list[RouteRule] = []

    def reads(
        self, path: str, summary: str, *, scope: str = "read", query: Mapping[str, str] = NO_QUERY
    ) -> Callable[[Callable[..., HandlerAnswer]], None]:
        """Register a GET: `handler(scope, speaker, **arguments)` reads one consistent state of the workspace."""

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
        secret_member: str | None = None,
        takes_file: bool = False,
    ) -> Callable[[Callable[..., Mapping[str, Any]]], None]:
        """Register a command: `handler(scope, speaker, body, **arguments)` in a transaction, once per Idempotency-Key.

        `read` replaces the reading of a JSON body. Slow work happens before the transaction: in `read`, or in
        `prepare(speaker, body, **arguments)`, whose result the handler gets instead of the body. `secret_member`
        names a member of the answer that is not stored: a repeated answer has null there.
        """

        def register(handler: Callable[..., Mapping[str, Any]]) -> None:
            def view(speaker: Speaker, **arguments: str) -> Response:
                sent = read() if read is not None else read_json_body(body)
                endpoint = f"{method} {path}"
                facts = {"arguments": arguments, "body": sent.model_dump(mode="json")}
                keyed = idempotency.keyed_request(endpoint, speaker.person_id, facts) if method == "POST" else None
                kept = self._kept(speaker, keyed)
                if kept is not None:
                    return _send_answer(kept.body, kept.status)
                prepared = prepare(speaker, sent, **arguments) if prepare is not None else sent

                def handle(scope: Scope) -> Mapping[str, Any]:
                    return handler(scope, speaker, prepared, **arguments)

                return self._act(speaker, keyed, status, handle, secret_member, f"web.{handler.__name__}")

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
        """Register any other route: `view(speaker, **arguments)` makes the whole response."""

        def register(view: View, name: str) -> None:
            guarded = self.guard(scope, view, limit)
            self.blueprint.add_url_rule(path, f"{method.lower()}_{name}", guarded, methods=[method])
            described_body = None if body is EmptyBody else body
            self.rules.append(
                RouteRule(method, path, scope, summary, described_body, status, query, takes_file, answers, media)
            )

        return register

    def guard(self, scope: str, view: View, limit: int = JSON_LIMIT) -> View:
        """Wrap `view(speaker, **arguments)` in the check of key, scope and role."""

        def guarded(**arguments: str) -> AnyResponse:
            request.max_content_length = limit
            speaker = speaker_of_request(self.dependencies.database)
            require_scope(speaker, scope)
            _refuse_nul()
            return view(speaker, **arguments)

        return guarded

    def _kept(self, speaker: Speaker, keyed: idempotency.KeyedRequest | None) -> idempotency.KeptAnswer | None:
        if keyed is None:
            return None
        with self.dependencies.database.reading(speaker.workspace_id) as scope:
            return idempotency.find_kept_answer(scope, keyed)

    def _act(
        self,
        speaker: Speaker,
        keyed: idempotency.KeyedRequest | None,
        status: int,
        handle: Callable[[Scope], Mapping[str, Any]],
        secret_member: str | None,
        name: str,
    ) -> Response:
        with self.dependencies.database.transaction(speaker.workspace_id, name) as scope:
            kept = None if keyed is None else idempotency.claim_request_key(scope, keyed)
            if kept is None:
                kept = idempotency.KeptAnswer(status, dict(handle(scope)))
                if keyed is not None:
                    secret = {} if secret_member is None else {secret_member: None}
                    idempotency.keep_answer(scope, keyed, idempotency.KeptAnswer(status, {**kept.body, **secret}))
        return _send_answer(kept.body, kept.status)


def _answer_type(handler: Callable[..., HandlerAnswer]) -> Any:
    """Return a handler's annotated return type, which describes its answer."""
    return get_type_hints(handler, include_extras=True)["return"]


def _refuse_nul() -> None:
    # No id or text has one, and some databases fail on it.
    if "\0" in request.path or any("\0" in value for value in request.args.values()):
        raise InvalidError("the address holds a NUL character: remove it")


def _send_answer(answer: HandlerAnswer, status: int) -> Response:
    if isinstance(answer, Response):
        return answer
    response = jsonify(answer)
    response.status_code = status
    response.headers["Cache-Control"] = "no-store"
    return response
