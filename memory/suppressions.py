"""Suppressions: fingerprints of forgotten statements, which are not remembered again automatically."""

from __future__ import annotations

from core.database import Scope
from memory.fingerprint import fingerprint
from memory.tables import suppressions


def suppress_statement(scope: Scope, within: str, text: str, card_id: str) -> bool:
    """Suppress a statement in a scope; False when it is suppressed already."""
    return scope.insert_new(
        suppressions,
        scope=within,
        fingerprint=fingerprint(scope.workspace_id, within, text),
        card_id=card_id,
        hits=0,
        created_at=scope.now,
    )


def is_suppressed(scope: Scope, within: str, text: str) -> bool:
    """Tell whether a statement is suppressed, and count each time that it is."""
    update = scope.update(suppressions).where(
        suppressions.c.scope == within,
        suppressions.c.fingerprint == fingerprint(scope.workspace_id, within, text),
    )
    return scope.change(update.values(hits=suppressions.c.hits + 1)) == 1


def lift_suppression(scope: Scope, within: str, text: str) -> None:
    """Allow a statement again, because the person wrote it down themselves."""
    delete = scope.delete(suppressions).where(
        suppressions.c.scope == within,
        suppressions.c.fingerprint == fingerprint(scope.workspace_id, within, text),
    )
    scope.change(delete)
