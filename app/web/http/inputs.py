"""Inputs of a request: its JSON body as a pydantic model, amounts, and the version it refers to."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Annotated, Any, NoReturn, TypeVar

from flask import request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from app.web.http.problems import PreconditionMissingError, TypeRefusedError, UnreadableError
from core.errors import InvalidError

JSON_LIMIT = 1024 * 1024
UPLOAD_LIMIT = 50 * 1024 * 1024
_IF_MATCH = re.compile(r'(?:W/)?"?([0-9]{1,9})"?')

AmountInput = Annotated[Decimal, Field(ge=0, le=1_000_000, decimal_places=6)]
"""A decimal string of zero or more, exact to the millionth."""


class Body(BaseModel):
    """Base of every request body. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EmptyBody(Body):
    """An empty body."""


B = TypeVar("B", bound=Body)


def read_json_body(shape: type[B]) -> B:
    """Return the request's JSON as `shape`. An empty body counts as `{}`."""
    raw = request.get_data(cache=True)
    if request.content_length is None and len(raw) >= (request.max_content_length or JSON_LIMIT):
        # A body without Content-Length is cut at the limit instead of refused.
        raise RequestEntityTooLarge
    if raw and not request.is_json:
        raise TypeRefusedError("send the body as `Content-Type: application/json`")
    try:
        value = _parse_json(raw) if raw.strip() else {}
        _refuse_unstorable(value)
    except RecursionError:
        raise UnreadableError("the body is nested too deeply") from None
    if not isinstance(value, dict):
        raise UnreadableError("the body must be a JSON object, such as {}")
    return parse_body(shape, value)


def parse_body(shape: type[B], value: dict[str, Any]) -> B:
    """Return `value` as `shape`. Raise InvalidError that names the wrong fields."""
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        problems = "; ".join(f"{_field_path(one['loc'])}: {one['msg']}" for one in error.errors()[:10])
        raise InvalidError(problems) from None


def _field_path(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "body"


def _parse_json(raw: bytes) -> Any:
    try:
        return json.loads(
            raw.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeated_names
        )
    except UnicodeDecodeError as error:
        raise UnreadableError(f"the body is not UTF-8: byte {error.start} begins no character") from None
    except ValueError as error:
        raise UnreadableError(f"the body is no JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Parsers disagree on which of two counts, so a proxy could check one and we could use the other.
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:40]!r} stands twice in one object")
    return found


def _refuse_unstorable(value: Any, place: str = "") -> None:
    # Not every database can store these characters unchanged.
    match value:
        case str():
            at = next((n for n, char in enumerate(value) if char == "\0" or "\ud800" <= char <= "\udfff"), None)
            if at is not None:
                what = "a NUL character" if value[at] == "\0" else "half of a surrogate pair"
                raise InvalidError(f"{place or 'body'}: {what} at position {at} is no text: remove it")
        case dict():
            for name, one in value.items():
                _refuse_unstorable(name, place)
                _refuse_unstorable(one, f"{place}.{name}" if place else str(name))
        case list():
            for n, one in enumerate(value):
                _refuse_unstorable(one, f"{place}.{n}")
        case _:
            pass


def requested_version() -> int | None:
    """Return `version=` of the query; None for the current one."""
    raw = request.args.get("version")
    if raw is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", raw):
        raise InvalidError(f"version is a number such as 1, not {raw[:40]!r}")
    return int(raw)


def required_base_version() -> int:
    """Return the version in `If-Match`. Raise PreconditionMissingError without one."""
    raw = request.headers.get("If-Match")
    if raw is None:
        raise PreconditionMissingError("say in `If-Match` which version you changed, as in If-Match: 3")
    match = _IF_MATCH.fullmatch(raw.strip())
    if match is None:
        raise InvalidError(f"If-Match is a version number such as 3, not {raw[:40]!r}")
    return int(match[1])
