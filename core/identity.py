"""Identity: access keys, the persons behind them and their rights. Of a key only its SHA-256 is stored."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import InvalidError, NotFoundError
from core.tables import keys, roles

HOME_WORKSPACE = "ws_local"
"""The workspace to which the agent folder of a home, with its skills, belongs."""
SCOPES = ("read", "write", "approve", "admin")
SPEAKS_AS = ("person", "program")
_VIEWER = "viewer"
_OWNER = "owner"


@dataclass(frozen=True)
class Speaker:
    """The person or program behind a key, with its workspace and rights."""

    workspace_id: str
    person_id: str
    role: str
    scopes: frozenset[str]
    speaks_as: str
    key_id: str

    def may(self, scope: str) -> bool:
        """Tell whether key and role both allow what `scope` names: viewers only read, only owners administer."""
        if scope not in self.scopes:
            return False
        if self.role == _VIEWER:
            return scope == "read"
        return scope != "admin" or self.role == _OWNER


@dataclass(frozen=True)
class Key:
    """A key without its secret, as it may be shown."""

    id: str
    person_id: str
    name: str
    scopes: tuple[str, ...]
    speaks_as: str
    created_at: datetime
    revoked_at: datetime | None


def new_raw_key() -> str:
    """Make a new secret; it is shown once and never stored."""
    return secrets.token_urlsafe(32)


def find_key(database: Database, raw: str) -> Speaker | None:
    """Return the speaker of a secret; None when the key is unknown or revoked."""
    return _find_speaker(database, keys.c.hash == _hash(raw))


def is_known_key(database: Database, raw: str) -> bool:
    """Tell whether a key with this secret exists or existed; a secret cannot be used again after its key is revoked."""
    with database.reading_unscoped() as connection:
        return connection.execute(sa.select(keys.c.id).where(keys.c.hash == _hash(raw))).first() is not None


def speaker_of_key(database: Database, key_id: str) -> Speaker | None:
    """Return the speaker of a key by its id, for a session that was opened with it; None once it is revoked."""
    return _find_speaker(database, keys.c.id == key_id)


def create_key(
    scope: Scope,
    *,
    person_id: str,
    name: str,
    scopes: Collection[str],
    speaks_as: str,
    raw: str,
) -> Key:
    """Store a key with the secret `raw` for a person who has a role in this workspace."""
    name = name.strip()
    unknown = sorted(set(scopes) - set(SCOPES))
    if not name:
        raise InvalidError("a key needs a name that says who uses it")
    if unknown or not scopes:
        raise InvalidError(f"scopes are some of {', '.join(SCOPES)}; got {', '.join(unknown) or 'none'}")
    if speaks_as not in SPEAKS_AS:
        raise InvalidError(f"a key speaks as one of {', '.join(SPEAKS_AS)}, not {speaks_as!r}")
    if scope.first(scope.select(roles).where(roles.c.person_id == person_id)) is None:
        raise NotFoundError(f"person {person_id} has no role in this workspace")
    key = Key(
        id=scope.ids.new("key"),
        person_id=person_id,
        name=name,
        scopes=tuple(one for one in SCOPES if one in scopes),
        speaks_as=speaks_as,
        created_at=scope.now,
        revoked_at=None,
    )
    scope.insert(
        keys,
        id=key.id,
        person_id=key.person_id,
        name=key.name,
        hash=_hash(raw),
        scopes=list(key.scopes),
        speaks_as=key.speaks_as,
        created_at=key.created_at,
    )
    return key


def list_keys(scope: Scope) -> list[Key]:
    """Return all keys of the workspace, revoked ones too, oldest first."""
    rows = scope.rows(scope.select(keys).order_by(keys.c.created_at, keys.c.id))
    return [_key_from_row(row) for row in rows]


def revoke_key(scope: Scope, key_id: str) -> Key:
    """Revoke a key for good; revoking it again changes nothing."""
    scope.change(
        scope.update(keys).where(keys.c.id == key_id, keys.c.revoked_at.is_(None)).values(revoked_at=scope.now)
    )
    row = scope.first(scope.select(keys).where(keys.c.id == key_id))
    if row is None:
        raise NotFoundError(f"there is no key {key_id} here")
    return _key_from_row(row)


def _hash(raw: str) -> str:
    return hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()


def _key_from_row(row: sa.Row[Any]) -> Key:
    return Key(
        id=row.id,
        person_id=row.person_id,
        name=row.name,
        scopes=tuple(row.scopes),
        speaks_as=row.speaks_as,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )


def _find_speaker(database: Database, which: sa.ColumnElement[bool]) -> Speaker | None:
    statement = (
        sa.select(keys, roles.c.role)
        .join(roles, (roles.c.workspace_id == keys.c.workspace_id) & (roles.c.person_id == keys.c.person_id))
        .where(which, keys.c.revoked_at.is_(None))
    )
    with database.reading_unscoped() as connection:
        row = connection.execute(statement).first()
    if row is None:
        return None
    return Speaker(
        workspace_id=row.workspace_id,
        person_id=row.person_id,
        role=row.role,
        scopes=frozenset(row.scopes),
        speaks_as=row.speaks_as,
        key_id=row.id,
    )
