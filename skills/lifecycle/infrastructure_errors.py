"""Errors of the infrastructure: a run failed because nobody served it, and not by what its skill did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from core.orchestrator.run_facts import was_unreached

SidecarFault = Literal["busy", "database_away", "process_lost", "state_missing"]
"""The names of the errors with which a sidecar answers when it cannot let the skill answer."""
_SIDECAR_FAULTS = frozenset(get_args(SidecarFault))


def is_infrastructure_error(error: Any) -> bool:
    """Of an error that the engine tells; a function can say the same, so ask only of runs that it did not end."""
    return was_unreached(error) or (isinstance(error, Mapping) and str(error.get("name")) in _SIDECAR_FAULTS)
