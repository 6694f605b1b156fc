"""The index follows the entries: what was put is added, what was removed goes, and what was lost is built again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum

from core import leases
from core.errors import UnavailableError
from core.search import collections
from core.search.comparing import Standing, compare, is_whole, mark_pending, standing
from core.search.following import StillTime, follow
from core.search.index import IndexAwayError, IndexBrokenError
from core.search.parts import SearchParts
from core.search.tables import search_entries

log = logging.getLogger(__name__)
LEASE = "search-index"
_LENGTH = timedelta(seconds=10)
_PASS_SECONDS = 5.0
_BUILT_AT_MOST_EVERY = timedelta(minutes=10)


class Synced(StrEnum):
    """How it went."""

    DONE = "done"
    MORE = "more"  # the time was up
    BUSY = "busy"  # another process is at it
    AWAY = "away"  # the index, or the model, does not answer


def sync(search: SearchParts, workspace_id: str, *, within: float = 20.0) -> Synced:
    """Bring the index up to a workspace's entries; stops between two batches once `within` seconds have passed.

    One process at a time writes the index, by a lease. Whatever is left, or was missed, the next pass finds.
    """
    return _as_owner(search, workspace_id, within, lambda still_time: follow(search, workspace_id, still_time))


def sync_pending(search: SearchParts, workspace_id: str) -> Synced:
    """`sync`, where something waits for it."""
    return sync(search, workspace_id) if standing(search, workspace_id).waiting else Synced.DONE


def rebuild(search: SearchParts, workspace_id: str, *, within: float = 600.0) -> Synced:
    """Let the workspace's part of the index go and build it from the entries; a search finds everything meanwhile."""

    def anew(still_time: StillTime) -> bool:
        _let_go(search, workspace_id)
        return follow(search, workspace_id, still_time)

    return _as_owner(search, workspace_id, within, anew)


def pass_over(search: SearchParts, workspace_id: str) -> int:
    """The watch's look at a workspace: 1 when there was something to make up for. Raises nothing for an index."""
    seen = standing(search, workspace_id)
    if seen.is_empty or not search.index.alive():
        return 0
    try:
        if not seen.waiting and is_whole(search, seen):
            return 0
    except IndexBrokenError as error:
        return _heal(search, workspace_id, seen, error)
    except IndexAwayError:
        return 0

    def mend(still_time: StillTime) -> bool:
        if not follow(search, workspace_id, still_time):
            return False
        # Asked again as the owner: another one may just have written what seemed to be missing.
        if is_whole(search, standing(search, workspace_id)):
            return True
        compare(search, workspace_id)
        return follow(search, workspace_id, still_time)

    return int(_as_owner(search, workspace_id, _PASS_SECONDS, mend) in (Synced.DONE, Synced.MORE))


def _heal(search: SearchParts, workspace_id: str, seen: Standing, error: IndexBrokenError) -> int:
    """An index that answers with errors is built again, though not over and over."""
    now = search.database.clock.now()
    if seen.collection is None or now - seen.collection.made_at < _BUILT_AT_MOST_EVERY:
        return 0
    log.warning("search: the index of workspace %s is built again: %s", workspace_id, error)
    return int(rebuild(search, workspace_id, within=_PASS_SECONDS) in (Synced.DONE, Synced.MORE))


def _as_owner(search: SearchParts, workspace_id: str, within: float, act: Callable[[StillTime], bool]) -> Synced:
    holder = search.database.ids.new("sync")
    until = time.monotonic() + within
    with leases.held(search.database, LEASE, holder, _LENGTH) as mine:
        if not mine:
            return Synced.BUSY
        try:
            return Synced.DONE if act(lambda: time.monotonic() < until) else Synced.MORE
        except UnavailableError as error:
            log.info("search: the index of workspace %s does not follow: %s", workspace_id, error)
            return Synced.AWAY


def _let_go(search: SearchParts, workspace_id: str) -> None:
    with search.database.transaction(workspace_id, "search.let_go") as scope:
        names = collections.all_of(scope)
        # First of all: from now on a search looks at the entries themselves.
        mark_pending(scope, search_entries.c.indexed_at.is_not(None))
    for model, name in names.items():
        search.index.drop(name)
        with search.database.transaction(workspace_id, "search.dropped") as scope:
            collections.forget(scope, model)
