"""A process forked from the supervisor: it has all modules loaded and starts in milliseconds instead of seconds."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

_THREADS = Path("/proc/self/task")
_HANDLES = Path("/proc/self/fd")
_HANDLED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)


def can_fork() -> bool:
    """Return whether forking without exec is safe: on Linux, with a single thread, native ones included."""
    return sys.platform == "linux" and threading.active_count() == 1 and len(list(_THREADS.iterdir())) == 1


class ProcessFork:
    """A forked process with those methods of `subprocess.Popen` that the supervisor needs."""

    def __init__(
        self, call: Callable[[], None], env: Mapping[str, str], stdin: int, output: int, prepare: Callable[[], None]
    ) -> None:
        self.returncode: int | None = None
        sys.stdout.flush()
        sys.stderr.flush()
        # Keeps the child's garbage collector off these objects, so that their memory stays shared.
        gc.freeze()
        self.pid = os.fork()
        if self.pid == 0:
            _run_child(call, env, stdin, output, prepare)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _run_child(
    call: Callable[[], None], env: Mapping[str, str], stdin: int, output: int, prepare: Callable[[], None]
) -> NoReturn:
    """Run `call` and exit. Must not return or raise: the supervisor's own frames are below."""
    status = 1
    try:
        prepare()
        for number in _HANDLED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.dup2(stdin, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        # Only the supervisor may hold the home's lock and its end of the watch pipe.
        for name in os.listdir(_HANDLES):
            if int(name) > 2:
                _close_handle(int(name))
        os.environ.clear()
        os.environ.update(env)
        call()
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - the boundary of a process: print any error and exit
        traceback.print_exc()
    finally:
        _flush_output()
        os._exit(status)


def _close_handle(handle: int) -> None:
    # The handle of the listing itself is closed already.
    with contextlib.suppress(OSError):
        os.close(handle)


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
