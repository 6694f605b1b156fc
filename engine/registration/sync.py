"""Sync of an app: read its registration and store its functions."""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, or_, select, text, update

from engine.formats import ids
from engine.formats.json_text import dumps
from engine.function import load_function
from engine.registration.checks import find_problems
from engine.runs.schedules import reschedule_function
from engine.storage.registry import REGISTRY_MARK
from engine.storage.tables import apps, functions
from engine.storage.transaction import Transaction

_RAISE_MARK = text(
    "INSERT INTO engine_marks (name, value) VALUES (:name, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = engine_marks.value + 1"
)


class RegistrationRefusedError(Exception):
    """The whole registration is refused; the message names every bad function and the reason."""


@dataclass(frozen=True)
class SyncedApp:
    """The result of a sync; `modified` says whether anything changed."""

    modified: bool
    sync_id: str
    app_id: str


def read_registration(body: Any) -> dict[str, Any]:
    """Check a registration and return it with its top-level keys in lower case.

    Raises:
        RegistrationRefusedError: anything in it is wrong.
    """
    if not isinstance(body, dict):
        raise RegistrationRefusedError("the registration must be an object")
    request = {str(key).lower(): value for key, value in body.items()}
    name = request.get("appname")
    if not isinstance(name, str) or not name:
        raise RegistrationRefusedError("the registration has no app name")
    configs = request.get("functions") or []
    if not isinstance(configs, list):
        raise RegistrationRefusedError("the functions of a registration must be a list")
    problems = [f"{_name(config)}: {problem}" for config in configs for problem in find_problems(config)]
    if problems:
        raise RegistrationRefusedError("At least one function is invalid. " + "; ".join(problems))
    request["functions"] = list({config["id"]: config for config in configs}.values())
    return request


def sync_app(tx: Transaction, request: dict[str, Any]) -> SyncedApp:
    """Store the app's functions as the request has them; functions that it leaves out are archived.

    Raises:
        RegistrationRefusedError: a function belongs to another app.
    """
    name: str = request["appname"]
    checksum = hashlib.sha256(dumps(request).encode()).hexdigest()
    stored = tx.run_once(select(apps).where(apps.c.name == name)).first()
    if stored is not None and stored.checksum == checksum:
        return SyncedApp(False, stored.sync_id, stored.id)
    _refuse_foreign(tx, name, request["functions"])
    synced = SyncedApp(True, str(uuid.uuid4()), ids.app_id(name))
    row = {
        "id": synced.app_id,
        "url": str(request.get("url") or ""),
        "sdk": str(request.get("sdk") or ""),
        "framework": str(request.get("framework") or ""),
        "version": str(request.get("appversion") or ""),
        "checksum": checksum,
        "sync_id": synced.sync_id,
        "synced_at": tx.now,
    }
    tx.run_once(delete(apps).where(apps.c.name == name))
    tx.run_once(insert(apps), {"name": name, **row})
    _store_functions(tx, name, request["functions"])
    tx.run_once(_RAISE_MARK, {"name": REGISTRY_MARK})
    return synced


def _store_functions(tx: Transaction, app: str, configs: Sequence[dict[str, Any]]) -> None:
    mine = or_(functions.c.app == app, functions.c.slug.in_([config["id"] for config in configs]))
    stored = {row.slug: row for row in tx.run_once(select(functions).where(mine))}
    for config in configs:
        slug, config_text = config["id"], dumps(config)
        before = stored.pop(slug, None)
        version = 1 if before is None else before.version + (before.config != config_text)
        if before is None:
            fresh = {"slug": slug, "id": ids.function_id(slug), "app": app, "config": config_text, "version": 1}
            tx.run_once(insert(functions), {**fresh, "archived": False, "created_at": tx.now})
        else:
            values = {"app": app, "config": config_text, "version": version, "archived": False}
            tx.run_once(update(functions).where(functions.c.slug == slug).values(**values))
        reschedule_function(
            tx, load_function(app, config_text, id=ids.function_id(slug), version=version, archived=False)
        )
    for row in stored.values():
        tx.run_once(update(functions).where(functions.c.slug == row.slug).values(archived=True))
        reschedule_function(tx, load_function(app, row.config, id=row.id, version=row.version, archived=True))


def _refuse_foreign(tx: Transaction, app: str, configs: Sequence[dict[str, Any]]) -> None:
    slugs = [config["id"] for config in configs]
    live = functions.c.archived.is_(False)
    rows = tx.run_once(select(functions).where(functions.c.slug.in_(slugs), functions.c.app != app, live)).all()
    if rows:
        reasons = "; ".join(f"{row.slug}: it belongs to app {row.app}" for row in rows)
        raise RegistrationRefusedError(f"At least one function is invalid. {reasons}")


def _name(config: Any) -> str:
    return (
        str(config.get("id") or config.get("name") or "a function without id")
        if isinstance(config, dict)
        else "a function"
    )
