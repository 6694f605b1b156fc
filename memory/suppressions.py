"""Suppressions: fingerprints of forgotten statements, which must not be remembered again by themselves."""

from __future__ import annotations

from core.database import Scope
from memory.fingerprint import fingerprint
from memory.tables import suppressions


def suppress_statement(scope: Scope, within: str, text: str, card_id: str) -> bool:
    """Keep a statement away from a scope; False when it is kept away already."""
    return scope.insert_new(
        suppressions,
        scope=within,
        fingerprint=fingerprint(scope.workspace_id, within, text),
        card_id=card_id,
        hits=0,
        created_at=scope.now,
    )


def is_suppressed(scope: Scope, within: str, text: str) -> bool:
    """Whether a statement is kept away; each time that it is, is counted."""
    met = scope.update(suppressions).where(
        suppressions.c.scope == within,
        suppressions.c.fingerprint == fingerprint(scope.workspace_id, within, text),
    )
    return scope.change(met.values(hits=suppressions.c.hits + 1)) == 1


def lift_suppression(scope: Scope, within: str, text: str) -> None:
    """Let a statement be remembered again: the person wrote it down themselves."""
    kept_away = scope.delete(suppressions).where(
        suppressions.c.scope == within,
        suppressions.c.fingerprint == fingerprint(scope.workspace_id, within, text),
    )
    scope.change(kept_away)
