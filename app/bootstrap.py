"""First start of a home: create its keys, its workspace, and the person who owns it."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from core.database import Database, Scope
from core.identity import HOME_WORKSPACE, SCOPES, create_key, find_key, is_known_key
from core.settings import Settings
from core.tables import persons, roles, workspaces
from runtime.limits import credits
from runtime.tables import budgets

WORKSPACE_ID = HOME_WORKSPACE
PERSON_ID = "person_local"
CURRENCY = "USD"


@dataclass(frozen=True)
class Bootstrap:
    """The secrets of a home; `token` is the local person's key with all scopes."""

    token: str = field(repr=False)
    signing_key: str = field(repr=False)
    event_key: str = field(repr=False)
    jobs_key: str = field(repr=False)


def ensure_home(settings: Settings) -> Bootstrap:
    """Create what is missing and return the keys. Needs a migrated database. Safe to repeat, also after a kill."""
    keys = settings.home / "keys"
    keys.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(settings.sql_url)
    try:
        token = _ensure_rows(database, settings, keys / "token")
    finally:
        database.close()
    return Bootstrap(
        token=token,
        signing_key=_read_or_make_secret(keys / "signing"),
        event_key=_read_or_make_secret(keys / "event"),
        jobs_key=_read_or_make_secret(keys / "jobs"),
    )


def _read_or_make_secret(path: Path) -> str:
    """Return the secret in this file; create it if there is none. Hexadecimal, as a signing key must be."""
    if not path.exists() or not path.read_text().strip():
        # Everybody would know an empty secret.
        _renew_secret(path)
    return path.read_text().strip()


def _renew_secret(path: Path) -> None:
    fresh = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(32))
    fresh.replace(path)


def _ensure_rows(database: Database, settings: Settings, token_file: Path) -> str:
    """Return the local person's token from `token_file`; replace it if it was revoked."""
    if WORKSPACE_ID not in database.workspace_ids():
        _make_workspace(database, settings)
    token = _read_or_make_secret(token_file)
    if find_key(database, token) is not None:
        return token
    if is_known_key(database, token):
        _renew_secret(token_file)
        token = _read_or_make_secret(token_file)
    with database.transaction(WORKSPACE_ID) as scope:
        create_key(scope, person_id=PERSON_ID, name="this machine", scopes=SCOPES, speaks_as="person", raw=token)
    return token


def _make_workspace(database: Database, settings: Settings) -> None:
    now = database.clock.now()
    with database.unscoped() as connection:
        connection.execute(
            sa.insert(workspaces).values(
                id=WORKSPACE_ID, name="Workshop", timezone=settings.timezone, change_seq=0, created_at=now
            )
        )
        connection.execute(sa.insert(persons).values(id=PERSON_ID, name="You", created_at=now))
        connection.execute(sa.insert(roles).values(workspace_id=WORKSPACE_ID, person_id=PERSON_ID, role="owner"))
        scope = Scope(connection, WORKSPACE_ID, now, database.ids)
        scope.insert(
            budgets,
            currency=CURRENCY,
            balance=credits.ZERO,
            reserved=credits.ZERO,
            free_per_operation=settings.free_per_operation,
            free_per_day=settings.free_per_day,
        )
        credits.grant_credit(scope, settings.opening_balance, "opening")
