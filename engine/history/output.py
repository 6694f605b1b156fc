"""Outputs as the read APIs show them."""

from typing import Any

from engine.json_text import loads


def listed_output(status: str, text: str | None) -> dict[str, Any] | None:
    """A run's output in a list: an object as it is, anything else under `data`, an error under `error`."""
    if text is None:
        return None
    return {"error": loads(text)} if status == "FAILED" else _as_object(loads(text))


def plain_output(text: str | None) -> dict[str, Any] | None:
    """A run's output by itself: as in a list, but the error of a failed run is not wrapped."""
    return None if text is None else _as_object(loads(text))


def memo_output(text: str | None) -> dict[str, Any] | None:
    """A step's memo without its wrapper; None for what has no output."""
    value = loads(text) if text is not None else None
    if not isinstance(value, dict):
        return None
    if value.keys() in ({"data"}, {"error"}):
        (value,) = value.values()
    return _as_object(value)


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"data": value}
