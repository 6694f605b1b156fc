"""The watch: whatever lost its bell is rung for again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

import inngest

from core import leases
from core.database import Database
from core.events import WatchRequested
from runtime import watching

log = logging.getLogger(__name__)
Pass = Callable[[str], int]
"""One more room's pass over a workspace, by its id; answers how many things were rung for."""
_LEASE = "watch"
_CRON_SECONDS = 60
_RETRIES = 3


def watch(
    client: inngest.Inngest, database: Database, pause: timedelta, patience: timedelta, others: Sequence[Pass]
) -> inngest.Function[str]:
    """Triggers: every minute, and `watch/requested`. Steps: `pass-<n>`, `pause-<n>`, `leave`.

    One watcher at a time. A run that meets another one's lease stands by: that one may have died with its process a
    moment ago, or may leave before the next minute begins. Retries are for calls that meet nobody, as when the product
    is started anew: a pass itself does not fail.
    """
    passes = max(1, min(_CRON_SECONDS, int(_CRON_SECONDS / pause.total_seconds())))

    @client.create_function(
        fn_id="watch",
        trigger=[inngest.TriggerCron(cron="* * * * *"), inngest.TriggerEvent(event=WatchRequested.name)],
        retries=_RETRIES,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        for n in range(1, passes + 1):
            ctx.step.run(f"pass-{n}", lambda: _pass(database, ctx.run_id, pause, patience, others))
            if n < passes:
                ctx.step.sleep(f"pause-{n}", pause)
        ctx.step.run("leave", lambda: leases.free(database, _LEASE, ctx.run_id))
        return "done"

    return handler


def _pass(database: Database, run_id: str, pause: timedelta, patience: timedelta, others: Sequence[Pass]) -> bool:
    # Two pauses and some: a watcher that died is followed soon, one that only waits keeps its place.
    if not leases.take(database, _LEASE, run_id, pause * 2 + timedelta(seconds=5)):
        return False
    for workspace_id in database.workspace_ids():
        for look in (lambda workspace: watching.pass_over(database, workspace, pause, patience), *others):
            _look(look, workspace_id)
    return True


def _look(look: Pass, workspace_id: str) -> None:
    try:
        look(workspace_id)
    except Exception:  # one workspace's trouble, or one room's, must not keep the watch from the others
        log.exception("watch: a pass over workspace %s failed; the next one begins afresh", workspace_id)
