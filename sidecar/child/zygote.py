"""The zygote: holds a loaded skill and forks a process for each call."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.process.parent_death import die_with_parent, load_prctl
from sidecar.child.ipc import ReplyHead, send_frame
from sidecar.child.limits import MEBIBYTE, Limits
from sidecar.child.process_tree import kill_children, measure_process_tree
from sidecar.child.scratch import Scratch

# How often running calls are checked.
_SWEEP_SECONDS = 0.5
_NICENESS = 5
# How long a call waits for a process while one of the runs has too many.
_ROOM_SECONDS, _ROOM_PAUSE = 3.0, 0.02
CALL_SECONDS = struct.Struct("!d")
"""The message that comes with a call's connection: the seconds that the call may take."""


@dataclass
class _Run:
    """A forked process that answers a call.

    `ended_for` says why this process ended it, empty if it did not. `unwatched`: its connection is no longer polled.
    """

    connection: socket.socket
    seconds: float
    ends_at: float
    ended_for: str = ""
    unwatched: bool = False


class Zygote:
    """Accepts connections from `calls` until the other side is gone; a forked process hands each to `answer`.

    The forked process has its own session. It ends by itself, by its limits, or when the other side hangs up. Then
    everything that it started is ended too, and if it gave no answer, this process says why. `fence` is called in it
    with its working folder.
    """

    def __init__(
        self,
        calls: socket.socket,
        answer: Callable[[socket.socket], None],
        scratch: Scratch,
        limits: Limits,
        fence: Callable[[Path], None],
    ) -> None:
        self._calls = calls
        self._answer = answer
        self._scratch = scratch
        self._limits = limits
        self._fence = fence
        self._runs: dict[int, _Run] = {}
        self._poll = select.poll()
        self._wake_in, self._wake_out = socket.socketpair()
        self._checked_at = 0.0
        self._pid, self._prctl = os.getpid(), load_prctl()

    def serve(self) -> None:
        """Accept and look after calls until the other side is gone."""
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        self._poll.register(self._calls, select.POLLIN)
        self._poll.register(self._wake_out, select.POLLIN)
        while True:
            ready = {fd for fd, _ in self._poll.poll(self._pause())}
            if self._wake_out.fileno() in ready:
                with contextlib.suppress(BlockingIOError):
                    self._wake_out.recv(4096)
            self._reap()
            self._end_overdue(ready)
            self._check_runs()
            if self._calls.fileno() in ready and not self._accept_call():
                return

    def _pause(self) -> float | None:
        """Return the milliseconds until something is due; None when nothing runs."""
        if not self._runs:
            return None
        due = min(run.ends_at for run in self._runs.values()) - time.monotonic()
        return max(0.0, min(due, _SWEEP_SECONDS)) * 1000

    def _accept_call(self) -> bool:
        """Fork for the next call; return False when there will be none."""
        try:
            message, fds, _, _ = socket.recv_fds(self._calls, CALL_SECONDS.size, 1)
        except OSError:
            return False
        if not message:
            return False
        if len(message) != CALL_SECONDS.size or len(fds) != 1:
            for fd in fds:
                os.close(fd)
            return True
        connection, seconds = socket.socket(fileno=fds[0]), float(CALL_SECONDS.unpack(message)[0])
        pid = self._fork()
        if pid is None:
            _send_end(connection, "no process could be started for it", begun=False)
            return True
        if pid == 0:
            self._run_call(connection)
        self._runs[pid] = _Run(connection, seconds, time.monotonic() + seconds)
        self._poll.register(connection, 0)
        return True

    def _fork(self) -> int | None:
        """Fork and return the process id, 0 in the forked process.

        None when the version has all the processes it may have, even after runs with too many were ended.
        """
        until = time.monotonic() + _ROOM_SECONDS
        while True:
            try:
                return os.fork()
            except OSError:
                if time.monotonic() > until:
                    return None
            self._reap()
            # Makes the check due now.
            self._checked_at = 0.0
            self._check_runs()
            time.sleep(_ROOM_PAUSE)

    def _run_call(self, connection: socket.socket) -> None:
        """Answer the call and exit; runs in the forked process."""
        try:
            die_with_parent(self._pid, self._prctl)
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (self._calls, self._wake_in, self._wake_out, *(run.connection for run in self._runs.values())):
                other.close()
            with contextlib.suppress(OSError):
                os.nice(_NICENESS)
            try:
                self._fence(self._scratch.enter())
            except OSError as error:
                # Other runs may have filled the disk.
                _send_end(connection, f"its folder could not be made: {error}", begun=False)
            else:
                self._answer(connection)
        finally:
            # Exit despite threads that are left, and without the interpreter's own clean-up.
            os._exit(0)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if (run := self._runs.pop(pid, None)) is not None:
                self._finish(pid, run, status)

    def _finish(self, pid: int, run: _Run, status: int) -> None:
        self._unwatch(run)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
        self._kill_strays()
        self._remove_files(pid)
        _send_end(run.connection, run.ended_for or _describe_end(status))

    def _end_overdue(self, ready: set[int]) -> None:
        """End runs whose time is up, or whose caller hung up, because it has the answer or needs none any more."""
        now = time.monotonic()
        for pid, run in self._runs.items():
            if run.connection.fileno() in ready and not run.unwatched:
                self._unwatch(run)
                self._end(pid, run, "its caller has hung up")
            elif now >= run.ends_at:
                self._end(pid, run, f"it took more than {run.seconds:g} s")

    def _end(self, pid: int, run: _Run, reason: str) -> None:
        run.ended_for = run.ended_for or reason
        # If it is still there by then, it is killed again.
        run.ends_at = time.monotonic() + _SWEEP_SECONDS
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)

    def _unwatch(self, run: _Run) -> None:
        if not run.unwatched:
            run.unwatched = True
            self._poll.unregister(run.connection)

    def _check_runs(self) -> None:
        """Kill orphans and end runs that exceed their share, every half second."""
        now = time.monotonic()
        if not self._runs or now - self._checked_at < _SWEEP_SECONDS:
            return
        self._checked_at = now
        self._kill_strays()
        excesses, limits = self._scratch.find_excesses(list(self._runs)), self._limits
        for pid, run in self._runs.items():
            usage = measure_process_tree(pid)
            if usage.processes > limits.share:
                self._end(pid, run, f"it started more than {limits.share} processes and threads")
            elif usage.memory > limits.memory:
                self._end(pid, run, f"it used more than {limits.memory // MEBIBYTE} MiB of memory")
            elif pid in excesses:
                self._end(pid, run, excesses[pid])

    def _remove_files(self, pid: int) -> None:
        try:
            self._scratch.remove(pid)
            if not self._runs:
                self._scratch.clear()
        except OSError:
            # This process ends, and the sidecar removes the folder.
            os._exit(1)

    def _kill_strays(self) -> None:
        if not kill_children(except_for=self._runs):
            # This process ends, and the jail ends them with it.
            os._exit(1)


def _describe_end(status: int) -> str:
    match os.waitstatus_to_exitcode(status):
        case code if code >= 0:
            return f"its process exited with status {code}"
        case code if code == -signal.SIGXCPU:
            return "it used up its processor time"
        case code if code == -signal.SIGKILL:
            return "its process was killed, by itself or for want of memory"
        case code:
            return f"its process was ended by {signal.Signals(-code).name}"


def _send_end(connection: socket.socket, reason: str, *, begun: bool = True) -> None:
    with contextlib.suppress(OSError), connection:
        connection.setblocking(False)
        send_frame(connection, ReplyHead(ended=reason, begun=begun))
