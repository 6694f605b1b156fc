"""The API's description (OpenAPI 3.1), made from the routes and the models that read their bodies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from pydantic.json_schema import models_json_schema

from app.web.endpoints import Rule

_ARGUMENT = re.compile(r"<(\w+)>")
_PROBLEM = {"description": "What went wrong", "content": {"application/problem+json": {}}}
_FILE = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary"}, "title": {"type": "string"}},
}


def description(rules: Sequence[Rule]) -> dict[str, Any]:
    """The routes with their queries and bodies, and the two that a signature opens."""
    bodies = sorted({rule.body for rule in rules if rule.body is not None}, key=lambda body: body.__name__)
    references, schemas = models_json_schema(
        [(body, "validation") for body in bodies], ref_template="#/components/schemas/{model}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for rule in rules:
        reference = None if rule.body is None else references[(rule.body, "validation")]
        paths.setdefault(_ARGUMENT.sub(r"{\1}", rule.path), {})[rule.method.lower()] = _operation(rule, reference)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Loopwright", "version": version("loopwright")},
        "paths": paths | _signed(),
        "components": {
            "schemas": schemas.get("$defs", {}),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _operation(rule: Rule, body: dict[str, Any] | None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": rule.summary,
        "description": f"Needs the scope `{rule.scope}`.",
        "parameters": [
            *(_parameter(name, "path") for name in _ARGUMENT.findall(rule.path)),
            *(_parameter(name, "query", meaning) for name, meaning in rule.query.items()),
        ],
        "responses": {str(rule.status): {"description": "Done"}, "default": _PROBLEM},
    }
    if body is not None:
        file = {"multipart/form-data": {"schema": _FILE}} if rule.takes_file else {}
        operation["requestBody"] = {"content": {"application/json": {"schema": body}, **file}}
    return operation


def _parameter(name: str, place: str, meaning: str = "", *, required: bool = False) -> dict[str, Any]:
    told = {"name": name, "in": place, "required": required or place == "path", "schema": {"type": "string"}}
    return told | ({"description": meaning} if meaning else {})


def _signed() -> dict[str, Any]:
    """They take no key: the provider signs what it sends, and we sign the addresses that it is given."""
    callback = {
        "summary": "A provider's news of a job, signed by it",
        "security": [],
        "parameters": [_parameter("provider", "path")],
        "responses": {
            "200": {"description": "Taken in, or known already"},
            "403": {"description": "The signature is none of this provider's, or too old"},
            "404": {"description": "There is no such provider, or it has no such job of ours yet: send it again"},
            "422": {"description": "It cannot be read, or is larger than news of a job may be"},
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
            "200": {"description": "The bytes"},
            "403": {"description": "Not signed by us, or no longer valid"},
            "404": {"description": "There are no such bytes"},
        },
    }
    return {
        "/api/v1/generations/callbacks/{provider}": {"post": callback},
        "/api/v1/assets/{sha256}": {"get": asset},
    }
