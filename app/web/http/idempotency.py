"""`Idempotency-Key`: the first answer to a key is kept and given again when the request is repeated."""

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
    """One POST under a key; `digest` tells the same request from another one."""

    key: str
    endpoint: str
    digest: str


@dataclass(frozen=True)
class KeptAnswer:
    """The answer that was given."""

    status: int
    body: Any


def keyed_request(endpoint: str, person_id: str, facts: Mapping[str, Any]) -> KeyedRequest | None:
    """What this request asks under its `Idempotency-Key`; None without one."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise InvalidError(f"Idempotency-Key is 1 to {LONGEST_KEY} printable characters")
    packed = json.dumps([endpoint, person_id, facts], sort_keys=True, default=str)
    return KeyedRequest(key, endpoint, hashlib.sha256(packed.encode()).hexdigest())


def claim_request_key(scope: Scope, ask: KeyedRequest) -> KeptAnswer | None:
    """Take the key for this transaction, or answer what it was answered before.

    Raises ConflictError when the key was used for another request. The row is part of the command's own
    transaction: it commits with the effect, and on PostgreSQL a second request waits here for the first.
    """
    added = scope.insert_new(
        replies, key=ask.key, endpoint=ask.endpoint, digest=ask.digest, status=None, body=None, created_at=scope.now
    )
    return None if added else find_kept_answer(scope, ask)


def find_kept_answer(scope: Scope, ask: KeyedRequest) -> KeptAnswer | None:
    """The answer to the same request under the same key; raises ConflictError when it was another request."""
    row = scope.first(scope.select(replies).where(replies.c.key == ask.key))
    if row is None:
        return None
    if row.digest != ask.digest:
        raise ConflictError("this Idempotency-Key was used for another request: use a new one", key=ask.key)
    return KeptAnswer(row.status, row.body)


def keep_answer(scope: Scope, ask: KeyedRequest, kept: KeptAnswer) -> None:
    """Keep the answer; part of the transaction that `begin` took the key in."""
    values = {"status": kept.status, "body": kept.body}
    scope.change(scope.update(replies).where(replies.c.key == ask.key).values(**values))
