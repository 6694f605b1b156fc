"""One supervised process: started, looked at, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.supervise.parent import die_with
from app.supervise.spec import ProcessSpec
from app.supervise.state_file import ProcessRow, ProcessState


@dataclass(frozen=True)
class Surroundings:
    """What all children of one supervisor share: where logs go, and the pipe whose other end only it holds."""

    logs: Path
    watch_pipe: int
    prctl: Callable[[int, int], int] | None

    def log_of(self, name: str) -> Path:
        return self.logs / f"{name}.log"


class Child:
    """Keeps one process of a spec; knows nothing of pauses or order. Start it from a thread that lives as long."""

    def __init__(self, spec: ProcessSpec, surroundings: Surroundings) -> None:
        self.spec = spec
        self.state = ProcessState.STARTING
        self.deaths_in_a_row = 0
        self.started_at = 0.0
        self.start_again_at: float | None = None
        self._surroundings = surroundings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def row(self) -> ProcessRow:
        return ProcessRow(self.spec.name, self._process.pid if self._process else None, self.spec.port, self.state)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        supervisor, prctl = os.getpid(), self._surroundings.prctl

        def prepare() -> None:
            # Ctrl-C at a terminal reaches the whole group: the supervisor alone decides who stops when. Blocked rather
            # than ignored, since a server that sets a handler of its own would get it after all.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            die_with(supervisor, prctl)

        with self._surroundings.log_of(self.spec.name).open("ab") as log:
            self._process = subprocess.Popen(
                self.spec.argv,
                env={**os.environ, **self.spec.env},
                stdin=self._surroundings.watch_pipe,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=prepare,  # noqa: PLW1509 - it only asks the kernel; the supervisor has no other threads
            )
        self.state = ProcessState.STARTING
        self.started_at = time.monotonic()
        self.start_again_at = None

    def reap(self) -> str | None:
        """How it ended, once, when it has ended since the last look; else None."""
        if self._process is None or self._process.poll() is None:
            return None
        code = self._process.returncode
        self._process = None
        return f"signal {-code}" if code < 0 else f"status {code}"

    def tell(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)
