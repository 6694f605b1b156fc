"""Tell errors of the infrastructure, where no process served a run, from errors of the skill itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from core.orchestrator.run_facts import was_unreached

SidecarFault = Literal["busy", "database_away", "process_lost", "state_missing"]
"""Names of the errors that a sidecar answers with when the skill could not be called."""
_SIDECAR_FAULTS = frozenset(get_args(SidecarFault))


def is_infrastructure_error(error: Any) -> bool:
    """Return whether an engine's error is one. A skill can raise the same text, so ask only for runs it did not end."""
    return was_unreached(error) or (isinstance(error, Mapping) and str(error.get("name")) in _SIDECAR_FAULTS)
