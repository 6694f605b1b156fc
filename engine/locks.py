"""Locks on names, where several processes share a database."""

from sqlalchemy import text

from engine.statement import Statement
from engine.transaction import Transaction

_LOCK = Statement(text("SELECT pg_advisory_xact_lock(hashtext(:name))"))


def lock_name(tx: Transaction, name: str) -> None:
    """Be the only transaction with this name until the end; on SQLite there is never another."""
    if tx.connection.dialect.name == "postgresql":
        tx.run(_LOCK, {"name": name})
