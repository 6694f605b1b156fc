"""Whether a run failed because nobody answered the engine, and not by what somebody answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BEGINNING = "Unable to reach SDK URL"


def unreached(error: Any) -> bool:
    """Of an error that the engine tells; a function that answers can say the same, so ask only of runs it did not end.

    An engine gives up so after as many attempts as the function is allowed.
    """
    if not isinstance(error, Mapping):
        return False
    said = (error.get("error"), error.get("message"))
    return any(isinstance(text, str) and text.startswith(_BEGINNING) for text in said)
