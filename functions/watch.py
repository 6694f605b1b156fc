"""Durable function of the watch: ring again for what lost its bell."""

from __future__ import annotations

import itertools
import logging
import math
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta

import inngest
import sqlalchemy as sa

from core import leases
from core.database import Database
from core.events import WatchRequested
from core.process.heartbeat import keep_beating
from runtime import recovery

log = logging.getLogger(__name__)
WatchPass = Callable[[str], int]
"""One more room's pass over a workspace, by its id; answers how many things were rung for."""
_LEASE = "watch"
_CRON_SECONDS = 60
_RETRIES = 3
_LONGEST = timedelta(minutes=5)
"""A look at a workspace that takes longer hangs, and must not keep the watch from others."""


def watch(
    client: inngest.Inngest, database: Database, pause: timedelta, patience: timedelta, others: Sequence[WatchPass]
) -> inngest.Function[str]:
    """Triggers: every minute, and `watch/requested`. Steps: `pass-<n>`, `pause-<n>`, `leave`.

    One watcher at a time. A run that meets another one's lease stands by: that one may have died with its process a
    moment ago, or may leave before the next minute begins. Retries are for calls that meet nobody, as when the product
    is started anew: a pass itself does not fail.
    """
    passes = max(1, min(_CRON_SECONDS, int(_CRON_SECONDS / pause.total_seconds())))
    # Two pauses and some: a watcher that died is followed soon, one that only waits keeps its place.
    length = pause * 2 + timedelta(seconds=5)
    looks = (lambda workspace_id: recovery.recover_workspace(database, workspace_id, pause, patience), *others)

    @client.create_function(
        fn_id="watch",
        trigger=[inngest.TriggerCron(cron="* * * * *"), inngest.TriggerEvent(event=WatchRequested.name)],
        retries=_RETRIES,
    )
    def handler(ctx: inngest.ContextSync) -> str:
        for n in range(1, passes + 1):
            ctx.step.run(f"pass-{n}", lambda: run_pass(database, ctx.run_id, length, looks))
            if n < passes:
                ctx.step.sleep(f"pause-{n}", pause)
        ctx.step.run("leave", lambda: _leave(database, ctx.run_id))
        return "done"

    return handler


def run_pass(
    database: Database, run_id: str, length: timedelta, looks: Sequence[WatchPass], longest: timedelta = _LONGEST
) -> bool:
    """Look at every workspace once while this run holds the watch's lease, which is renewed as long as that takes, but
    no more once one look takes the `longest`.

    False when another run holds it, or takes it meanwhile, and when the database is away: the next pass begins afresh.
    """
    place = _WatchLease(database, run_id, length, longest)
    try:
        if not leases.acquire_lease(database, _LEASE, run_id, length):
            return False
        with keep_beating("lease-watch", place.pause, place.renew):
            for workspace_id, look in itertools.product(database.workspace_ids(), looks):
                if place.lost.is_set():
                    return False
                place.goes_on()
                _run_look(look, workspace_id)
    except sa.exc.SQLAlchemyError:
        log.exception("watch: a pass failed at the database; the next one begins afresh")
        return False
    return True


class _WatchLease:
    """The watcher's lease during a pass."""

    def __init__(self, database: Database, run_id: str, length: timedelta, longest: timedelta) -> None:
        self.pause = length.total_seconds() / 3
        self.lost = threading.Event()
        self._take: Callable[[], bool] = lambda: leases.acquire_lease(database, _LEASE, run_id, length)
        self._most = math.ceil(longest.total_seconds() / self.pause)
        self._beats = 0

    def goes_on(self) -> None:
        """Another look begins."""
        self._beats = 0

    def renew(self) -> bool:
        """False when it is lost, or given up since nothing goes on."""
        self._beats += 1
        try:
            if self._beats > self._most or not self._take():
                self.lost.set()
        except sa.exc.SQLAlchemyError:
            # A database that is away for a moment: the next beat tries again, and the lease decides who is right.
            return True
        return not self.lost.is_set()


def _leave(database: Database, run_id: str) -> None:
    try:
        leases.release_lease(database, _LEASE, run_id)
    except sa.exc.SQLAlchemyError:
        log.exception("watch: the lease was not given back; the next run takes it when it is dead")


def _run_look(look: WatchPass, workspace_id: str) -> None:
    try:
        look(workspace_id)
    except Exception:  # one workspace's trouble, or one room's, must not keep the watch from the others
        log.exception("watch: a pass over workspace %s failed; the next one begins afresh", workspace_id)
