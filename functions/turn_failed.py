"""What a turn's run does when the engine gives it up: the task says why, unless somebody still works on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import inngest

from core.events import MainRequested, TurnRequested
from functions.shell import heard, stepped
from runtime import closing
from runtime.parts import RuntimeParts


def turn_failed(
    parts: RuntimeParts, kind: type[TurnRequested] | type[MainRequested]
) -> Callable[[inngest.ContextSync], None]:
    """The failure hook. It says nothing while a lease lives (the watch rings when that one is dead), nor when another
    run has taken the failed one's place.
    """

    def hook(ctx: inngest.ContextSync) -> None:
        original = ctx.event.data.get("event")
        data = original.get("data") if isinstance(original, Mapping) else None
        asked = heard(kind, inngest.Event(name=kind.name, data=data if isinstance(data, Mapping) else {}))
        run_id, reason = str(ctx.event.data.get("run_id")), _reason(ctx.event.data.get("error"))
        ctx.step.run("fail", stepped(lambda: closing.fail(parts, asked.workspace_id, asked.turn_id, run_id, reason)))

    return hook


def _reason(error: Any) -> str:
    said = error.get("message") if isinstance(error, Mapping) else None
    return str(said or "the work failed more often than it may be tried")[:500]
