"""`Idempotency-Key`: the first answer to a key is stored and returned when the request is repeated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import request

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.tables import replies

LONGEST_KEY = 160


@dataclass(frozen=True)
class KeyedRequest:
    """A POST with a key; `digest` tells a repeated request from a different one."""

    key: str
    endpoint: str
    digest: str


@dataclass(frozen=True)
class KeptAnswer:
    """A stored answer."""

    status: int
    body: Any


def keyed_request(endpoint: str, person_id: str, facts: Mapping[str, Any]) -> KeyedRequest | None:
    """Return this request with its `Idempotency-Key`; None without one. Raise InvalidError for a malformed key."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidError(f"Idempotency-Key is 1 to {LONGEST_KEY} printable characters")
    packed = json.dumps([endpoint, person_id, facts], sort_keys=True, default=str)
    return KeyedRequest(key, endpoint, hashlib.sha256(packed.encode()).hexdigest())


def claim_request_key(scope: Scope, keyed: KeyedRequest) -> KeptAnswer | None:
    """Claim the key in this transaction and return None, or return the answer stored under it.

    Raises ConflictError if the key was used for another request. The row is part of the command's own
    transaction: it commits with the effect, and on PostgreSQL a second request waits here for the first.
    """
    added = scope.insert_new(
        replies,
        key=keyed.key,
        endpoint=keyed.endpoint,
        digest=keyed.digest,
        status=None,
        body=None,
        created_at=scope.now,
    )
    return None if added else find_kept_answer(scope, keyed)


def find_kept_answer(scope: Scope, keyed: KeyedRequest) -> KeptAnswer | None:
    """Return the answer stored for this request, or None. Raise ConflictError if the key had another request."""
    row = scope.first(scope.select(replies).where(replies.c.key == keyed.key))
    if row is None:
        return None
    if row.digest != keyed.digest:
        raise ConflictError("this Idempotency-Key was used for another request: use a new one", key=keyed.key)
    return KeptAnswer(row.status, row.body)


def keep_answer(scope: Scope, keyed: KeyedRequest, kept: KeptAnswer) -> None:
    """Store the answer, in the transaction that claimed the key."""
    values = {"status": kept.status, "body": kept.body}
    scope.change(scope.update(replies).where(replies.c.key == keyed.key).values(**values))
