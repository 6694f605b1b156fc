"""Processes of a test that die at a point while they work on its database, and one that lives to the end."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from core.process import crash
from tests.support.databases import Store
from tests.support.waiting import until

FAILED = 3
_LEASES_ARE_DEAD = timedelta(minutes=1)
_PATIENCE = 180.0


def survive(store: Store, folder: Path, entries: Sequence[str], act: Callable[[], object]) -> None:
    """Run `act` in one process after the other, each killed at the next of `entries`, until one ends by itself.

    Every process begins where the last one's rows stand, after so long that no lease of a dead one is left.
    """
    for _ in range(len(entries) + 1):
        store.database.close()
        died = _run(",".join(entries), folder, act)
        store.clock.advance(_LEASES_ARE_DEAD)
        if not died:
            break
    struck = [entry for entry in entries if (folder / "crash" / entry).exists()]
    assert struck == list(entries)
    assert not died


def at_once(store: Store, acts: Sequence[Callable[[], object]]) -> None:
    """Run each act in a process of its own, all at the same time."""
    store.database.close()
    children = [_fork("", Path(os.devnull), act) for act in acts]
    for child in children:
        status = _end_of(child)
        assert os.WIFEXITED(status)
        assert os.WEXITSTATUS(status) == 0, "a process failed; its traceback stands in the captured output"


def _run(plan: str, folder: Path, act: Callable[[], object]) -> bool:
    """Return whether the process was killed; one that raises fails the test."""
    status = _end_of(_fork(plan, folder, act))
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the process failed; its traceback stands in the captured output"
    return False


def _end_of(child: int) -> int:
    """Return a process's exit status; one that does not end in time is killed and fails the test."""

    def ended() -> tuple[int] | None:
        pid, status = os.waitpid(child, os.WNOHANG)
        return (status,) if pid else None

    try:
        (status,) = until("the end of the process", ended, _PATIENCE, every=0.01, most_between=0.01) or (0,)
    except AssertionError:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return status


def _fork(plan: str, folder: Path, act: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        _live(plan, folder, act)
    return child


def _live(plan: str, folder: Path, act: Callable[[], object]) -> None:
    # Nothing of the test may run on in the child, whatever happens.
    code = FAILED
    try:
        crash.arm(plan, folder)
        act()
        code = 0
    except BaseException:  # noqa: BLE001 - the child ends here and says why
        traceback.print_exc()
    finally:
        os._exit(code)
