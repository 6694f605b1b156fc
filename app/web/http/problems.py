"""Problem responses: every error as `application/problem+json` (RFC 9457), or as a page for a browser."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType

from flask import Flask, Response, request
from sqlalchemy.exc import OperationalError
from typing_extensions import TypedDict
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from core.errors import (
    BusyError,
    ConflictError,
    InvalidError,
    LoopwrightError,
    LostError,
    ModelError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnclearError,
)

log = logging.getLogger("loopwright.web")

_DRAIN_LIMIT = 64 * 1024 * 1024
_STATUS: tuple[tuple[type[LoopwrightError], int], ...] = (
    (NotFoundError, 404),
    (InvalidError, 422),
    (RefusedError, 403),
    (ConflictError, 409),
    (LostError, 409),
    (BusyError, 503),
    (UnavailableError, 503),
    (UnclearError, 502),
    (ModelError, 502),
)
_INTERNAL = "something failed on our side; it is in the log of the web process"
_AWAY = "the database does not answer just now; nothing of this request was done, try again"
_NO_PAGE = "there is nothing at this address: it may have a typing error, or what was here is gone"
_ADVICE = {
    404: "there is nothing at this address; see /api/v1/openapi.json",
    405: "this address does not take {method}; see /api/v1/openapi.json",
}


class ProblemDocument(TypedDict):
    """An error (RFC 9457): `code` is for programs, `detail` says what to do. Some have further members."""

    type: str
    title: str
    status: int
    detail: str
    code: str


class NotSignedInError(LoopwrightError):
    """The request has no key, or an unknown or revoked one."""

    code = "not_signed_in"


class UnreadableError(LoopwrightError):
    """The body is not of the media type it claims."""

    code = "malformed"


class TypeRefusedError(LoopwrightError):
    """The body has a media type that this address does not accept."""

    code = "media_type"


class PreconditionMissingError(LoopwrightError):
    """The request does not say which version it changes."""

    code = "precondition_required"


class TooManyError(LoopwrightError):
    """Too many streams are open."""

    retriable = True
    code = "too_many"


_OWN_STATUS: dict[type[LoopwrightError], int] = {
    NotSignedInError: 401,
    UnreadableError: 400,
    TypeRefusedError: 415,
    PreconditionMissingError: 428,
    TooManyError: 503,
}


def problem_response(
    status: int, detail: str, code: str, facts: Mapping[str, object] = MappingProxyType({})
) -> Response:
    """Return a problem document. `facts` are further members for programs; they cannot replace its own."""
    own: ProblemDocument = {
        "type": "about:blank",
        "title": _title(status),
        "status": status,
        "detail": detail,
        "code": code,
    }
    answer = Response(json.dumps({**facts, **own}, default=str), status, content_type="application/problem+json")
    if status == 401:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="loopwright"'
    if status == 503:
        answer.headers["Retry-After"] = "2"
    return answer


def status_of(error: LoopwrightError) -> int:
    """Return the HTTP status of a domain error; 500 for one without."""
    own = _OWN_STATUS.get(type(error))
    if own is not None:
        return own
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def register_problems(app: Flask, page: Callable[[int, str], Response]) -> None:
    """Translate every failure. A browser that requested a page gets `page(status, detail)`, with the same status."""

    def choose_form(answer: Response, detail: str) -> Response:
        if request.path.startswith("/api/") or "text/html" not in request.headers.get("Accept", ""):
            return answer
        return page(answer.status_code, detail)

    app.register_error_handler(LoopwrightError, lambda error: choose_form(_domain_problem(error), str(error)))
    app.register_error_handler(
        HTTPException,
        lambda error: choose_form(_http_problem(error), _NO_PAGE if error.code == 404 else error.description or ""),
    )
    app.register_error_handler(OperationalError, lambda error: choose_form(_database_problem(error), _AWAY))
    app.register_error_handler(Exception, lambda error: choose_form(_internal_problem(error), _INTERNAL))


def _domain_problem(error: LoopwrightError) -> Response:
    status = status_of(error)
    if status == 500:
        log.error("request failed", extra={"code": error.code}, exc_info=error)
    return problem_response(status, str(error), error.code, error.facts())


def _http_problem(error: HTTPException) -> Response:
    status = error.code or 500
    if isinstance(error, RequestEntityTooLarge):
        _drain_request()
        return problem_response(413, _too_large(), "too_large", {"limit": request.max_content_length})
    advice = _ADVICE.get(status, error.description or "").format(method=request.method)
    answer = problem_response(status, advice, "http")
    for name, value in error.get_headers():
        if name.lower() not in {"content-type", "content-length"}:
            answer.headers[name] = value
    return answer


def _database_problem(error: OperationalError) -> Response:
    log.error("the database failed", exc_info=error)
    return problem_response(503, _AWAY, UnavailableError.code)


def _internal_problem(error: Exception) -> Response:
    # The boundary of the process: the trace goes to the log only.
    log.error("unexpected failure", exc_info=error)
    return problem_response(500, _INTERNAL, "internal")


def _too_large() -> str:
    limit = (request.max_content_length or 0) // (1024 * 1024)
    if request.path == "/api/v1/messages":
        return f"a message's body holds {limit} MB: upload long text as a file and attach it"
    return f"the body is larger than the {limit} MB this address takes: send it in smaller pieces"


def _drain_request() -> None:
    # The client is still sending; closing now would reset its connection before it reads the answer.
    stream, left = request.environ["wsgi.input"], _unread_bytes()
    while left > 0 and (piece := stream.read(min(left, 65536))):
        left -= len(piece)


def _unread_bytes() -> int:
    """Return how many bytes can be read without waiting for bytes that will not come."""
    if request.content_length is not None:
        return min(request.content_length, _DRAIN_LIMIT)
    return _DRAIN_LIMIT if request.environ.get("wsgi.input_terminated") else 0


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Problem"
