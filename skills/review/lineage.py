"""Which run of which skill invoked a run, as its event tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skills.review.words import text_in

APP = "skill-"


def invoker(event: Mapping[str, Any]) -> tuple[str, str] | None:
    """The skill and the run behind an invoked run; None for one that an event or a schedule began."""
    data = event.get("data")
    told = data.get("_inngest") if isinstance(data, Mapping) else None
    if not isinstance(told, Mapping):
        return None
    app, correlation = text_in(told, "source_app_id"), text_in(told, "correlation_id")
    run_id = correlation.partition(".")[0]
    return (app.removeprefix(APP), run_id) if app.startswith(APP) and run_id else None
