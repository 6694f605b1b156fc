"""Durable function that brings the search index up to date with the stored entries."""

from __future__ import annotations

from datetime import timedelta

import inngest

from core.events import SearchChanged
from core.search.dependencies import SearchDependencies
from core.search.index_sync import sync_pending_index
from functions.shell import as_step, parse_event

_QUIET, _LONGEST = timedelta(seconds=1), timedelta(seconds=10)
_RETRIES = 3


def sync_index(client: inngest.Inngest, search: SearchDependencies) -> inngest.Function[str]:
    """Trigger `search/entries.changed`, debounced by a second. Step: `follow`.

    A few retries cover a restart, when calls reach no process. A search finds all entries meanwhile, and the watch
    makes up for a failed run.
    """

    @client.create_function(
        fn_id="sync-index",
        trigger=inngest.TriggerEvent(event=SearchChanged.name),
        debounce=inngest.Debounce(period=_QUIET, timeout=_LONGEST, key="event.data.workspace_id"),
        retries=_RETRIES,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        changed = parse_event(SearchChanged, ctx.event)
        return str(ctx.step.run("follow", as_step(lambda: sync_pending_index(search, changed.workspace_id))))

    return handler
