"""A supervised process: start it, watch it, stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from app.supervision.fork import ProcessFork, can_fork
from app.supervision.home_state import ProcessRow, ProcessState
from app.supervision.process_spec import ProcessSpec
from core.process.parent_death import die_with_parent


class Process(Protocol):
    """A separate program or a fork."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def send_signal(self, number: int, /) -> None: ...


@dataclass(frozen=True)
class Surroundings:
    """What all children of a supervisor share: the log folder, and a pipe that closes when the supervisor dies."""

    logs: Path
    watch_pipe: int
    prctl: Callable[[int, int], int] | None

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"


class SupervisedProcess:
    """Runs the process of one spec; the supervisor decides when. Start it from a thread that outlives it."""

    def __init__(self, spec: ProcessSpec, surroundings: Surroundings) -> None:
        self.spec = spec
        self.state = ProcessState.STARTING
        self.deaths_in_a_row = 0
        self.started_at = 0.0
        self.ready_at: float | None = None
        self.start_again_at: float | None = None
        self._surroundings = surroundings
        self._process: Process | None = None

    @property
    def row(self) -> ProcessRow:
        return ProcessRow(self.spec.name, self._process.pid if self._process else None, self.spec.port, self.state)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        supervisor, prctl = os.getpid(), self._surroundings.prctl

        def prepare() -> None:
            # Ctrl-C at a terminal reaches the whole group, but the supervisor alone stops processes. Blocked rather
            # than ignored, since a server that sets its own handler would receive it after all.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            die_with_parent(supervisor, prctl)

        self.started_at = time.monotonic()
        with self._surroundings.log_of(self.spec.name).open("ab") as log:
            self._process = self._begin(log, prepare)
        self.state = ProcessState.STARTING
        self.ready_at = None
        self.start_again_at = None

    def _begin(self, log: BinaryIO, prepare: Callable[[], None]) -> Process:
        spec, stdin, env = self.spec, self._surroundings.watch_pipe, {**os.environ, **self.spec.env}
        if spec.fork is not None and can_fork():
            return ProcessFork(spec.fork.call, env, stdin, log.fileno(), prepare)
        return subprocess.Popen(
            spec.argv,
            env=env,
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=prepare,  # noqa: PLW1509 - it only asks the kernel; the supervisor has no other threads
        )

    def mark_ready(self) -> None:
        self.state = ProcessState.RUNNING
        self.ready_at = time.monotonic()

    @property
    def served(self) -> float:
        """Seconds that it has been ready since its last start."""
        return 0.0 if self.ready_at is None else time.monotonic() - self.ready_at

    @property
    def start_took(self) -> float:
        """Seconds from its last start until it was ready; 0 if it has not been ready since."""
        return 0.0 if self.ready_at is None else self.ready_at - self.started_at

    def reap(self) -> str | None:
        """Return how it ended (`signal 9`, `status 1`) if it ended since the last call; else None."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return None
        self._process = None
        return f"signal {-code}" if code < 0 else f"status {code}"

    def send_signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
