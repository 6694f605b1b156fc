"""Errors and ids of runs, in the form that engines report them."""

from __future__ import annotations

from datetime import datetime

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ERROR = {"error": "invalid status code: 500", "name": "KeyError", "message": "'x'", "stack": "line 7"}
UNREACHABLE = {"error": "Unable to reach SDK URL", "message": '{"error":{"error":"Unable…"}}', "name": "Error"}


def run_id(at: datetime, n: int = 0) -> str:
    """As an engine makes it of the moment at which it queues the run."""
    number = (int(at.timestamp() * 1000) << 80) | n
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -5, -5))
