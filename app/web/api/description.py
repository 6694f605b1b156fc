"""The API's OpenAPI 3.1 description, made from routes and their types, and the workspace's metrics."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Literal, cast

import sqlalchemy as sa
from flask import Response, jsonify
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from app.web.api.generations import TakenNews
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints, RouteRule
from app.web.http.problems import ProblemDocument
from app.web.stream.hub import Hub
from core.database import Scope
from core.identity import Speaker
from core.tables import changes
from generation.tables import orders
from runtime.tables import cards, tasks, turns

_ARGUMENT = re.compile(r"<(\w+)>")
_FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary"}, "title": {"type": "string"}},
}


_PUBLISHED = {
    "AskSkillChange": "Wish",
    "ChecklistProgress": "Progress",
    "EngineRun": "Run",
    "InboxItemShape": "InboxItem",
    "InvokeFunction": "Invoke",
    "ListPage": "Listed",
    "MoneyShape": "Money",
    "ProblemDocument": "Problem",
    "SkillCandidateShape": "Candidate",
    "StepEvidenceShape": "Evidence",
    "TellOutcome": "Outcome",
    "TraceStep": "Step",
}
"""Classes whose published schema has another name than the class."""
_REF = "#/components/schemas/"


class Description(TypedDict):
    """An OpenAPI document."""

    openapi: str
    info: dict[str, str]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, list[str]]]


_Way = Literal["validation", "serialization"]
"""Whether a type is read from a body or written to an answer."""


class _Schemas:
    """The schemas of all bodies and answers, each defined once under its published name."""

    def __init__(self, rules: Sequence[RouteRule]) -> None:
        bodies = {rule.body: None for rule in rules if rule.body is not None}
        answers = [ProblemDocument, TakenNews, *(rule.answers for rule in rules if rule.answers is not None)]
        self._known: list[tuple[Any, _Way]] = [
            *((body, "validation") for body in sorted(bodies, key=lambda body: body.__name__)),
            *((answer, "serialization") for answer in answers),
        ]
        self._found, together = TypeAdapter.json_schemas(
            [(n, way, TypeAdapter(one)) for n, (one, way) in enumerate(self._known)],
            ref_template=_REF + "{model}",
        )
        self.named = {_published(name): _renamed(shape) for name, shape in together.get("$defs", {}).items()}

    def of(self, one: Any, way: _Way) -> dict[str, Any]:
        return cast(dict[str, Any], _renamed(self._found[self._known.index((one, way)), way]))


def _published(name: str) -> str:
    """Return the published name of a class; a generic class's name is followed by those of its arguments."""
    generic, _, arguments = name.partition("_")
    return _PUBLISHED.get(generic, generic) + (f"_{arguments}" if arguments else "")


def _renamed(schema: Any) -> Any:
    """Return the schema with references by published names."""
    match schema:
        case {"$ref": str(ref), **more}:
            name = ref.removeprefix(_REF)
            return {**_renamed(more), "$ref": _REF + _published(name)}
        case dict():
            return {key: _renamed(value) for key, value in schema.items()}
        case list():
            return [_renamed(one) for one in schema]
        case _:
            return schema


def describe_api(rules: Sequence[RouteRule]) -> Description:
    """Describe all routes, and the two that need a signature instead of a key."""
    schemas = _Schemas(rules)
    paths: dict[str, dict[str, Any]] = {}
    for rule in rules:
        paths.setdefault(_ARGUMENT.sub(r"{\1}", rule.path), {})[rule.method.lower()] = _operation(rule, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Loopwright", "version": version("loopwright")},
        "paths": paths | _signed_operations(schemas),
        "components": {
            "schemas": schemas.named,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _operation(rule: RouteRule, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": rule.summary,
        "description": f"Needs the scope `{rule.scope}`.",
        "parameters": [
            *(_parameter(name, "path") for name in _ARGUMENT.findall(rule.path)),
            *(_parameter(name, "query", meaning) for name, meaning in rule.query.items()),
        ],
        "responses": {
            str(rule.status): _success_answer(rule, schemas),
            "default": _problem("What went wrong", schemas),
        },
    }
    if rule.body is not None:
        body = schemas.of(rule.body, "validation")
        file = {"multipart/form-data": {"schema": _FILE}} if rule.takes_file else {}
        operation["requestBody"] = {"content": {"application/json": {"schema": body}, **file}}
    return operation


def _success_answer(rule: RouteRule, schemas: _Schemas) -> dict[str, Any]:
    shape = {} if rule.answers is None else {"schema": schemas.of(rule.answers, "serialization")}
    return {"description": "Done", "content": {rule.media: shape}}


def _problem(description: str, schemas: _Schemas) -> dict[str, Any]:
    shape = schemas.of(ProblemDocument, "serialization")
    return {"description": description, "content": {"application/problem+json": {"schema": shape}}}


def _parameter(name: str, place: str, meaning: str = "", *, required: bool = False) -> dict[str, Any]:
    parameter = {"name": name, "in": place, "required": required or place == "path", "schema": {"type": "string"}}
    return parameter | ({"description": meaning} if meaning else {})


def _signed_operations(schemas: _Schemas) -> dict[str, Any]:
    """Describe the routes without a key: providers sign their callbacks, and we sign the addresses of bytes."""
    callback = {
        "summary": "A provider's news of a job, signed by it",
        "security": [],
        "parameters": [_parameter("provider", "path")],
        "responses": {
            "200": {
                "description": "Taken in, or known already",
                "content": {"application/json": {"schema": schemas.of(TakenNews, "serialization")}},
            },
            "403": _problem("The signature is none of this provider's, or too old", schemas),
            "404": _problem("There is no such provider, or it has no such job of ours yet: send it again", schemas),
            "422": _problem("It cannot be read, or is larger than news of a job may be", schemas),
        },
    }
    asset = {
        "summary": "Bytes for a provider",
        "security": [],
        "parameters": [
            _parameter("sha256", "path"),
            _parameter("exp", "query", "until when it can be read, in seconds since 1970", required=True),
            _parameter("sig", "query", "our signature", required=True),
        ],
        "responses": {
            "200": {"description": "The bytes", "content": {"application/octet-stream": {}}},
            "403": _problem("Not signed by us, or no longer valid", schemas),
            "404": _problem("There are no such bytes", schemas),
        },
    }
    return {
        "/api/v1/generations/callbacks/{provider}": {"post": callback},
        "/api/v1/assets/{sha256}": {"get": asset},
    }


_ROW_COUNT = sa.func.count().label("count")
_GAUGES = (
    ("loopwright_tasks", "Tasks by status", tasks.c.status),
    ("loopwright_turns", "Turns by status", turns.c.status),
    ("loopwright_cards", "Cards by state", cards.c.state),
    ("loopwright_generations", "Generations by state", orders.c.state),
)


def about_api(dependencies: WebDependencies, hub: Hub, rules: Callable[[], Sequence[RouteRule]]) -> Endpoints:
    endpoints = Endpoints(dependencies, "about_api")

    def openapi(speaker: Speaker) -> Response:
        return jsonify(describe_api([rule for rule in rules() if rule.path.startswith("/api/")]))

    def metrics(speaker: Speaker) -> Response:
        with dependencies.database.reading(speaker.workspace_id) as scope:
            text = prometheus_metrics(scope, hub.open_streams)
        return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")

    endpoints.serves("GET", "/api/v1/openapi.json", "This description", scope="read", answers=Description)(
        openapi, "openapi"
    )
    endpoints.serves("GET", "/metrics", "Numbers of the workspace, for Prometheus", scope="read", media="text/plain")(
        metrics, "metrics"
    )
    return endpoints


def prometheus_metrics(scope: Scope, open_streams: int) -> str:
    """Return the workspace's metrics as Prometheus text."""
    lines = []
    for name, help_text, state in _GAUGES:
        lines += [f"# HELP {name} {help_text}.", f"# TYPE {name} gauge"]
        counted = scope.rows(scope.select(state.label("state"), _ROW_COUNT).group_by(state).order_by(state))
        lines += [f'{name}{{state="{row.state}"}} {row._mapping["count"]}' for row in counted]
    newest = scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq.desc()).limit(1)) or 0
    lines += ["# HELP loopwright_changes_total Changes of the workspace.", "# TYPE loopwright_changes_total counter"]
    lines += [f"loopwright_changes_total {newest}"]
    lines += ["# HELP loopwright_streams Open event streams of this process.", "# TYPE loopwright_streams gauge"]
    return "\n".join([*lines, f"loopwright_streams {open_streams}", ""])
