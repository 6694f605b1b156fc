"""Sync of the index: updates by one process at a time, repair of an index that lost entries, and rebuilding."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from functools import partial

from core.errors import UnavailableError
from core.leases import hold_lease
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
_LEASE_LENGTH = timedelta(seconds=10)
_PASS_SECONDS = 5.0
_MIN_REBUILD_PAUSE = timedelta(minutes=10)


class SyncResult(StrEnum):
    """The result of a sync."""

    DONE = "done"
    MORE = "more"  # the time was up before all was done
    BUSY = "busy"  # another process is writing the index
    AWAY = "away"  # the index or the model does not answer


def sync_index(search: SearchDependencies, workspace_id: str, *, within: float = 20.0) -> SyncResult:
    """Update the index with a workspace's entries; stops between two batches after `within` seconds.

    A lease lets one process at a time write the index. The next pass finds what is left.
    """
    return _run_as_owner(search, workspace_id, within, partial(update_index, search, workspace_id))


def sync_pending_index(search: SearchDependencies, workspace_id: str) -> SyncResult:
    """Sync the index if anything is pending."""
    return sync_index(search, workspace_id) if read_index_state(search, workspace_id).waiting else SyncResult.DONE


def rebuild_index(search: SearchDependencies, workspace_id: str, *, within: float = 600.0) -> SyncResult:
    """Drop the workspace's part of the index and build it from the entries; searches find everything meanwhile."""

    def rebuild(still_time: StillTime) -> bool:
        _drop_index(search, workspace_id)
        return update_index(search, workspace_id, still_time)

    return _run_as_owner(search, workspace_id, within, rebuild)


def mend_index(search: SearchDependencies, workspace_id: str) -> int:
    """Repair the index of a workspace, for the watch; returns 1 if anything was done. Never raises for an index."""
    state = read_index_state(search, workspace_id)
    if state.is_empty or not search.index.alive():
        return 0
    try:
        if not state.waiting and is_index_whole(search, state):
            return 0
    except IndexBrokenError as error:
        return _rebuild_broken(search, workspace_id, state, error)
    except IndexAwayError:
        return 0

    def mend(still_time: StillTime) -> bool:
        if not update_index(search, workspace_id, still_time):
            return False
        # Check again as the owner, since another process may just have written what was missing.
        if is_index_whole(search, read_index_state(search, workspace_id)):
            return True
        compare_index(search, workspace_id)
        return update_index(search, workspace_id, still_time)

    return int(_run_as_owner(search, workspace_id, _PASS_SECONDS, mend) in (SyncResult.DONE, SyncResult.MORE))


def _rebuild_broken(search: SearchDependencies, workspace_id: str, state: IndexState, error: IndexBrokenError) -> int:
    """Rebuild an index that answers with errors, at most every ten minutes."""
    now = search.database.clock.now()
    if state.collection is None or now - state.collection.made_at < _MIN_REBUILD_PAUSE:
        return 0
    log.warning("search: rebuilding the index of workspace %s: %s", workspace_id, error)
    return int(rebuild_index(search, workspace_id, within=_PASS_SECONDS) in (SyncResult.DONE, SyncResult.MORE))


def _run_as_owner(
    search: SearchDependencies, workspace_id: str, within: float, act: Callable[[StillTime], bool]
) -> SyncResult:
    """Act under the lease of the index, which one process has at a time, with `within` seconds for its batches."""
    holder = search.database.ids.new("sync")
    until = time.monotonic() + within
    with hold_lease(search.database, LEASE, holder, _LEASE_LENGTH) as acquired:
        if not acquired:
            return SyncResult.BUSY
        try:
            return SyncResult.DONE if act(lambda: time.monotonic() < until) else SyncResult.MORE
        except UnavailableError as error:
            log.info("search: the index of workspace %s cannot be updated: %s", workspace_id, error)
            return SyncResult.AWAY


def _drop_index(search: SearchDependencies, workspace_id: str) -> None:
    with search.database.transaction(workspace_id, "search.let_go") as scope:
        names = collections.list_collections(scope)
        # Before anything is dropped: from now on searches compare the entries themselves.
        mark_pending(scope, search_entries.c.indexed_at.is_not(None))
    for model, name in names.items():
        search.index.drop(name)
        with search.database.transaction(workspace_id, "search.dropped") as scope:
            collections.forget_collection(scope, model)
