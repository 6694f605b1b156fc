"""An HTTP client that checks each answer of a site against the site's own description."""

from __future__ import annotations

import re
from copy import copy
from typing import Any

import httpx
from jsonschema import Draft202012Validator

_METHODS = ("get", "post", "put", "patch", "delete")
_PUBLISHED: list[CheckedClient] = []


class CheckedClient:
    """`check` is for every answer; `seen` holds the operations that were answered well, as `GET /path`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.seen: set[str] = set()
        self._components = {name: _closed(one) for name, one in document["components"]["schemas"].items()}
        self._paths = [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in sorted(document["paths"])]

    def fresh(self) -> CheckedClient:
        """The same with nothing seen: to read the document takes its time."""
        other = copy(self)
        other.seen = set()
        return other

    @property
    def operations(self) -> set[str]:
        return {
            f"{method.upper()} {path}"
            for path, methods in self.document["paths"].items()
            for method in _METHODS
            if method in methods
        }

    def check(self, answer: httpx.Response) -> None:
        """Raises AssertionError where an answer of the API is not as it is described."""
        media = answer.headers.get("Content-Type", "").partition(";")[0]
        path = self._path(answer.request.url.path)
        if path is None or answer.request.method == "HEAD":
            return
        operation = self.document["paths"][path].get(answer.request.method.lower())
        if operation is None:
            return
        shown = operation["responses"].get(str(answer.status_code), operation["responses"].get("default", {}))
        if answer.is_success:
            self.seen.add(f"{answer.request.method} {path}")
        if media in ("application/json", "application/problem+json"):
            answer.read()
            self._hold(answer, shown.get("content", {}), media)

    def _path(self, asked: str) -> str | None:
        # A word of a path comes before what may stand in its place.
        found = [path for pattern, path in self._paths if pattern.fullmatch(asked)]
        return min(found, key=lambda path: path.count("{"), default=None)

    def _hold(self, answer: httpx.Response, content: dict[str, Any], media: str) -> None:
        asked = f"{answer.request.method} {answer.request.url.path}: {answer.status_code}"
        if "*/*" in content:
            return
        assert media in content, f"{asked} is {media}, and is described as {sorted(content)}"
        schema = {**_closed(content[media]["schema"]), "components": {"schemas": self._components}}
        wrong = sorted(Draft202012Validator(schema).iter_errors(answer.json()), key=lambda error: list(error.path))
        said = "; ".join(f"{list(error.absolute_path)}: {error.message[:300]}" for error in wrong[:3])
        assert not wrong, f"{asked} is not as described: {said}"


def checked_client(client: httpx.Client) -> CheckedClient:
    """What the served site publishes of itself; asked once a process, since all sites run the same code."""
    if not _PUBLISHED:
        answer = client.get("/api/v1/openapi.json")
        assert answer.status_code == 200, answer.text
        _PUBLISHED.append(CheckedClient(answer.json()))
    return _PUBLISHED[0].fresh()


def _closed(schema: Any) -> Any:
    """The schema with nothing allowed in an object that it does not name; a problem says more than is described."""
    match schema:
        case {"properties": {"detail": _, "code": _}}:
            return schema
        case {"properties": dict(properties), **rest}:
            inner = {name: _closed(one) for name, one in properties.items()}
            return {"additionalProperties": False, **rest, "properties": inner}
        case dict():
            return {name: _closed(one) for name, one in schema.items()}
        case list():
            return [_closed(one) for one in schema]
        case _:
            return schema
