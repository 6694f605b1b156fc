"""The log of all requests with their answers; null for an answer that was never sent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Any


def record_request(db: sqlite3.Connection, request: Mapping[str, Any], at: datetime) -> int:
    """Store a request before it is answered and return its number in the log."""
    row = db.execute("INSERT INTO requests (at, request) VALUES (?, ?)", (at.isoformat(), json.dumps(request)))
    return int(row.lastrowid or 0)


def record_answer(db: sqlite3.Connection, number: int, answer: Mapping[str, Any]) -> None:
    db.execute("UPDATE requests SET answer = ? WHERE number = ?", (json.dumps(answer), number))


def list_requests(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return all requests with their answers, oldest first."""
    rows = db.execute("SELECT at, request, answer FROM requests ORDER BY number").fetchall()
    return [
        {"at": row["at"], "request": json.loads(row["request"]), "answer": json.loads(row["answer"] or "null")}
        for row in rows
    ]
