"""Durable function of the watch: ring again for whatever has lost its bell."""

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
"""Pass of another room over a workspace, given by its id; returns how many repairs were made."""
_LEASE = "watch"
_CRON_SECONDS = 60
_RETRIES = 3
_LONGEST = timedelta(minutes=5)
"""Longest time for one room's pass over one workspace; after that it counts as hanging and loses the lease."""


def watch(
    client: inngest.Inngest, database: Database, pause: timedelta, patience: timedelta, others: Sequence[WatchPass]
) -> inngest.Function[str]:
    """Triggers: every minute, and `watch/requested`. Steps: `pass-<n>`, `pause-<n>`, `leave`.

    One watcher at a time. A run that finds another one's lease keeps trying: that one may have died with its process,
    or may leave before the next minute begins. The retries cover a restart, when calls reach no process; a pass itself
    does not fail.
    """
    # As many passes as fit between two runs of the schedule.
    passes = max(1, min(_CRON_SECONDS, int(_CRON_SECONDS / pause.total_seconds())))
    # A little more than two pauses: a dead watcher is replaced soon, and one that only pauses keeps the lease.
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
    """Make every room's pass (`looks`) over every workspace once, under the watch's lease of `length`.

    The lease is renewed meanwhile, but no longer once a single pass takes more than `longest`. Return False when
    another run holds the lease or takes it over, or when the database is away; the next pass starts again.
    """
    lease = _WatchLease(database, run_id, length, longest)
    try:
        if not leases.acquire_lease(database, _LEASE, run_id, length):
            return False
        with keep_beating("lease-watch", lease.pause, lease.renew):
            for workspace_id, room_pass in itertools.product(database.workspace_ids(), looks):
                if lease.lost.is_set():
                    return False
                lease.begin_room_pass()
                _run_room_pass(room_pass, workspace_id)
    except sa.exc.SQLAlchemyError:
        log.exception("watch: a pass failed at the database; the next one starts again")
        return False
    return True


class _WatchLease:
    """The watch's lease during a pass."""

    def __init__(self, database: Database, run_id: str, length: timedelta, longest: timedelta) -> None:
        self.pause = length.total_seconds() / 3
        self.lost = threading.Event()
        self._take: Callable[[], bool] = lambda: leases.acquire_lease(database, _LEASE, run_id, length)
        self._most_beats = math.ceil(longest.total_seconds() / self.pause)
        self._beats = 0

    def begin_room_pass(self) -> None:
        """Start to count the time of one room's pass over one workspace."""
        self._beats = 0

    def renew(self) -> bool:
        """Renew the lease; return False when it is lost, or given up because a pass takes too long."""
        self._beats += 1
        try:
            if self._beats > self._most_beats or not self._take():
                self.lost.set()
        except sa.exc.SQLAlchemyError:
            # The database is away for a moment: the next beat tries again, and the stored lease decides who holds it.
            return True
        return not self.lost.is_set()


def _leave(database: Database, run_id: str) -> None:
    try:
        leases.release_lease(database, _LEASE, run_id)
    except sa.exc.SQLAlchemyError:
        log.exception("watch: the lease was not released; the next run takes it once it has expired")


def _run_room_pass(room_pass: WatchPass, workspace_id: str) -> None:
    try:
        room_pass(workspace_id)
    except Exception:  # a failure in one workspace or one room must not keep the watch from the others
        log.exception("watch: a pass over workspace %s failed; the next one starts again", workspace_id)
