"""Run index updates one process at a time, repair an index that lost something, and rebuild it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from core import leases
from core.errors import UnavailableError
from core.search import collections
from core.search.dependencies import SearchDependencies
from core.search.index import IndexAwayError, IndexBrokenError
from core.search.index_update import (
    IndexState,
    StillTime,
    compare_index,
    is_index_whole,
    mark_pending,
    read_index_state,
    update_index,
)
from core.search.tables import search_entries

log = logging.getLogger(__name__)
LEASE = "search-index"
_LENGTH = timedelta(seconds=10)
_PASS_SECONDS = 5.0
_BUILT_AT_MOST_EVERY = timedelta(minutes=10)


class SyncResult(StrEnum):
    """How it went."""

    DONE = "done"
    MORE = "more"  # the time was up
    BUSY = "busy"  # another process is at it
    AWAY = "away"  # the index, or the model, does not answer


def sync_index(search: SearchDependencies, workspace_id: str, *, within: float = 20.0) -> SyncResult:
    """Bring the index up to a workspace's entries; stops between two batches once `within` seconds have passed.

    One process at a time writes the index, by a lease. Whatever is left, or was missed, the next pass finds.
    """
    return _as_owner(search, workspace_id, within, lambda still_time: update_index(search, workspace_id, still_time))


def sync_pending_index(search: SearchDependencies, workspace_id: str) -> SyncResult:
    """`sync`, where something waits for it."""
    return sync_index(search, workspace_id) if read_index_state(search, workspace_id).waiting else SyncResult.DONE


def rebuild_index(search: SearchDependencies, workspace_id: str, *, within: float = 600.0) -> SyncResult:
    """Let the workspace's part of the index go and build it from the entries; a search finds everything meanwhile."""

    def anew(still_time: StillTime) -> bool:
        _let_go(search, workspace_id)
        return update_index(search, workspace_id, still_time)

    return _as_owner(search, workspace_id, within, anew)


def mend_index(search: SearchDependencies, workspace_id: str) -> int:
    """The watch's look at a workspace: 1 when there was something to make up for. Raises nothing for an index."""
    seen = read_index_state(search, workspace_id)
    if seen.is_empty or not search.index.alive():
        return 0
    try:
        if not seen.waiting and is_index_whole(search, seen):
            return 0
    except IndexBrokenError as error:
        return _heal(search, workspace_id, seen, error)
    except IndexAwayError:
        return 0

    def mend(still_time: StillTime) -> bool:
        if not update_index(search, workspace_id, still_time):
            return False
        # Asked again as the owner: another one may just have written what seemed to be missing.
        if is_index_whole(search, read_index_state(search, workspace_id)):
            return True
        compare_index(search, workspace_id)
        return update_index(search, workspace_id, still_time)

    return int(_as_owner(search, workspace_id, _PASS_SECONDS, mend) in (SyncResult.DONE, SyncResult.MORE))


def _heal(search: SearchDependencies, workspace_id: str, seen: IndexState, error: IndexBrokenError) -> int:
    """An index that answers with errors is built again, though not over and over."""
    now = search.database.clock.now()
    if seen.collection is None or now - seen.collection.made_at < _BUILT_AT_MOST_EVERY:
        return 0
    log.warning("search: the index of workspace %s is built again: %s", workspace_id, error)
    return int(rebuild_index(search, workspace_id, within=_PASS_SECONDS) in (SyncResult.DONE, SyncResult.MORE))


def _as_owner(
    search: SearchDependencies, workspace_id: str, within: float, act: Callable[[StillTime], bool]
) -> SyncResult:
    holder = search.database.ids.new("sync")
    until = time.monotonic() + within
    with leases.hold_lease(search.database, LEASE, holder, _LENGTH) as mine:
        if not mine:
            return SyncResult.BUSY
        try:
            return SyncResult.DONE if act(lambda: time.monotonic() < until) else SyncResult.MORE
        except UnavailableError as error:
            log.info("search: the index of workspace %s does not follow: %s", workspace_id, error)
            return SyncResult.AWAY


def _let_go(search: SearchDependencies, workspace_id: str) -> None:
    with search.database.transaction(workspace_id, "search.let_go") as scope:
        names = collections.list_collections(scope)
        # First of all: from now on a search looks at the entries themselves.
        mark_pending(scope, search_entries.c.indexed_at.is_not(None))
    for model, name in names.items():
        search.index.drop(name)
        with search.database.transaction(workspace_id, "search.dropped") as scope:
            collections.forget_collection(scope, model)
