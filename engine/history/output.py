"""Outputs as the read APIs show them."""

from typing import Any

from engine.json_text import loads


def public_output(status: str, text: str | None) -> dict[str, Any] | None:
    """An object as it is, anything else under `data`, what a failed run said under `error`; None while there is none."""
    if text is None:
        return None
    value = loads(text)
    if status == "FAILED":
        return {"error": value}
    return value if isinstance(value, dict) else {"data": value}


def memo_output(text: str | None) -> dict[str, Any] | None:
    """A step's memo: `{data}` or `{error}`, the event of a wait under `data`; None for what has no output."""
    value = loads(text) if text is not None else None
    if not isinstance(value, dict):
        return None
    return value if value.keys() in ({"data"}, {"error"}) else {"data": value}
