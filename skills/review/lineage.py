"""Which run invoked a run, as its event tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skills.review.words import text_in


def invoker(event: Mapping[str, Any]) -> str | None:
    """The run behind an invoked run; None for one that an event or a schedule began.

    Its function is not told in the same words by every engine, so the run's own row says whose it is.
    """
    data = event.get("data")
    told = data.get("_inngest") if isinstance(data, Mapping) else None
    return text_in(told, "correlation_id").partition(".")[0] or None
