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

# How often, while a run lasts, it is looked after.
_SWEEP_SECONDS = 0.5
_NICENESS = 5
# How long a call waits for a process while one of the runs has too many.
_ROOM_SECONDS, _ROOM_PAUSE = 3.0, 0.02
CALL_SECONDS = struct.Struct("!d")
"""What comes with a call's connection: the seconds it may take."""


@dataclass
class _Run:
    connection: socket.socket
    seconds: float
    ends_at: float
    ended_for: str = ""
    hung_up: bool = False


class Zygote:
    """Takes connections from `calls` until the other side is gone; each is handed to `answer` in a forked process.

    The forked process has a session of its own. When it ends, by itself, by its limits or because the other side hung
    up, everything that it started ends too, and where it gave no answer this process says why. `fence` is called in it
    with the folder that it works in.
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
        self._bell_in, self._bell_out = socket.socketpair()
        self._looked_at = 0.0
        self._pid, self._prctl = os.getpid(), load_prctl()

    def serve(self) -> None:
        for end in (self._bell_in, self._bell_out):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._bell_in.fileno(), warn_on_full_buffer=False)
        self._poll.register(self._calls, select.POLLIN)
        self._poll.register(self._bell_out, select.POLLIN)
        while True:
            ready = {fd for fd, _ in self._poll.poll(self._pause())}
            if self._bell_out.fileno() in ready:
                with contextlib.suppress(BlockingIOError):
                    self._bell_out.recv(4096)
            self._reap()
            self._end_those_over(ready)
            self._look()
            if self._calls.fileno() in ready and not self._take():
                return

    def _pause(self) -> float | None:
        """Milliseconds until something is due; None when nothing runs."""
        if not self._runs:
            return None
        due = min(run.ends_at for run in self._runs.values()) - time.monotonic()
        return max(0.0, min(due, _SWEEP_SECONDS)) * 1000

    def _take(self) -> bool:
        """Fork for the next call; False when there will be none."""
        try:
            said, fds, _, _ = socket.recv_fds(self._calls, CALL_SECONDS.size, 1)
        except OSError:
            return False
        if not said:
            return False
        if len(said) != CALL_SECONDS.size or len(fds) != 1:
            for fd in fds:
                os.close(fd)
            return True
        connection, seconds = socket.socket(fileno=fds[0]), float(CALL_SECONDS.unpack(said)[0])
        pid = self._fork()
        if pid is None:
            _send_end(connection, "no process could be started for it", begun=False)
            return True
        if pid == 0:
            self._become(connection)
        self._runs[pid] = _Run(connection, seconds, time.monotonic() + seconds)
        self._poll.register(connection, 0)
        return True

    def _fork(self) -> int | None:
        """None when the version has all the processes it may have: a run that took more than its share ends first."""
        until = time.monotonic() + _ROOM_SECONDS
        while True:
            try:
                return os.fork()
            except OSError:
                if time.monotonic() > until:
                    return None
            self._reap()
            self._looked_at = 0.0
            self._look()
            time.sleep(_ROOM_PAUSE)

    def _become(self, connection: socket.socket) -> None:
        """In the forked process: answer and end."""
        try:
            die_with_parent(self._pid, self._prctl)
            os.setsid()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (self._calls, self._bell_in, self._bell_out, *(run.connection for run in self._runs.values())):
                other.close()
            with contextlib.suppress(OSError):
                os.nice(_NICENESS)
            try:
                self._fence(self._scratch.enter())
            except OSError as error:
                # Others may have filled the disk.
                _send_end(connection, f"it could not be given a place of its own: {error}", begun=False)
            else:
                self._answer(connection)
        finally:
            # Whatever threads it left, and without what the interpreter does at its end.
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
        self._clear()
        self._tidy(pid)
        _send_end(run.connection, run.ended_for or _describe_end(status))

    def _end_those_over(self, ready: set[int]) -> None:
        """Runs whose time is up, or whose caller hung up: with the answer, or because it has no use for one."""
        now = time.monotonic()
        for pid, run in self._runs.items():
            if run.connection.fileno() in ready and not run.hung_up:
                self._unwatch(run)
                self._end(pid, run, "nobody waits for it")
            elif now >= run.ends_at:
                self._end(pid, run, f"it took more than {run.seconds:g} s")

    def _end(self, pid: int, run: _Run, reason: str) -> None:
        run.ended_for = run.ended_for or reason
        # Should it not be gone by then, it is tried again.
        run.ends_at = time.monotonic() + _SWEEP_SECONDS
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(pid, signal.SIGKILL)

    def _unwatch(self, run: _Run) -> None:
        if not run.hung_up:
            run.hung_up = True
            self._poll.unregister(run.connection)

    def _look(self) -> None:
        """From time to time, at what runs have cut loose and at what they hold together."""
        now = time.monotonic()
        if not self._runs or now - self._looked_at < _SWEEP_SECONDS:
            return
        self._looked_at = now
        self._clear()
        over, limits = self._scratch.over(list(self._runs)), self._limits
        for pid, run in self._runs.items():
            usage = measure_process_tree(pid)
            if usage.processes > limits.share:
                self._end(pid, run, f"it started more than {limits.share} processes and threads")
            elif usage.memory > limits.memory:
                self._end(pid, run, f"it used more than {limits.memory // MEBIBYTE} MiB of memory")
            elif pid in over:
                self._end(pid, run, over[pid])

    def _tidy(self, pid: int) -> None:
        try:
            self._scratch.forget(pid)
            if not self._runs:
                self._scratch.clear()
        except OSError:
            # The folder goes with us.
            os._exit(1)

    def _clear(self) -> None:
        if not kill_children(but=self._runs):
            # They are ended with us.
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
