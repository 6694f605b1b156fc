"""Authentication of a request, by bearer key or signed session with CSRF token, and checks of what it may do."""

from __future__ import annotations

import hmac
import secrets

from flask import request, session

from app.web.http.problems import NotSignedInError
from core.database import Database
from core.errors import RefusedError
from core.identity import Speaker, find_key, speaker_of_key
from runtime.inbox.messages import Message

CSRF_HEADER = "X-CSRF-Token"
CSRF_FIELD = "csrf"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_MISSING = "send a key as `Authorization: Bearer KEY`, or open the address that `loopwright up` printed"


def speaker_of_request(database: Database) -> Speaker:
    """Return who makes this request. Raise NotSignedInError without a valid key, RefusedError without a CSRF token."""
    header = request.headers.get("Authorization")
    if header is not None:
        return _speaker_of_bearer(database, header)
    key_id = session.get("key_id")
    speaker = speaker_of_key(database, key_id) if isinstance(key_id, str) else None
    if speaker is None:
        raise NotSignedInError(_MISSING)
    if request.method not in _SAFE:
        _check_csrf()
    return speaker


def require_scope(speaker: Speaker, scope: str) -> None:
    """Raise RefusedError unless both the key's scopes and the person's role allow it."""
    if not speaker.may(scope):
        missing = f"the key lacks the scope `{scope}`" if scope not in speaker.scopes else f"a {speaker.role} may not"
        raise RefusedError(f"{missing}: ask an owner of the workspace for a key that may")


def start_session(database: Database, raw: str) -> Speaker:
    """Exchange a key for a session. Raise NotSignedInError for an unknown or revoked key."""
    speaker = find_key(database, raw)
    if speaker is None:
        raise NotSignedInError("this key is unknown or revoked: open the address that `loopwright up` printed last")
    session.clear()
    session.permanent = True
    session["key_id"] = speaker.key_id
    session[CSRF_FIELD] = secrets.token_urlsafe(24)
    return speaker


def csrf_token() -> str:
    """Return the token that this session's pages send with every unsafe request."""
    return str(session.get(CSRF_FIELD, ""))


def _speaker_of_bearer(database: Database, header: str) -> Speaker:
    kind, _, raw = header.partition(" ")
    speaker = find_key(database, raw.strip()) if kind.lower() == "bearer" and raw.strip() else None
    if speaker is None:
        raise NotSignedInError(f"the key is unknown or revoked: {_MISSING}")
    return speaker


def _check_csrf() -> None:
    expected = csrf_token()
    given = request.headers.get(CSRF_HEADER) or request.form.get(CSRF_FIELD, "")
    if not expected or not hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace")):
        raise RefusedError("the page's token is missing or old: reload the page and try again")


def require_person(speaker: Speaker, act: str) -> None:
    """Raise RefusedError for a program's key, whatever its scopes; `act` names what only a person may do."""
    if speaker.speaks_as != "person":
        raise RefusedError(f"a program's key may not {act}: it takes a person, in the page or by their key")


def require_own_message(speaker: Speaker, message: Message) -> None:
    """Raise RefusedError unless the message is the speaker's, or the speaker administers the workspace."""
    if message.person_id != speaker.person_id and not speaker.may("admin"):
        raise RefusedError("these are another person's words: only they, or an owner by an admin key, may move them")
