"""Starts all processes of a product, keeps them alive, and stops them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from app.supervise.child import Child, Surroundings
from app.supervise.log_files import rotate, tail
from app.supervise.parent import load_prctl
from app.supervise.probe import is_ready
from app.supervise.restart import RestartPolicy
from app.supervise.signals import SignalWatch
from app.supervise.spec import ProcessSpec
from app.supervise.state_file import ProcessState, remove_rows, write_rows

Say = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """How long things may take, in seconds."""

    start: float = 90.0
    # A process that dies this often in a row before it was ever ready will not start by being asked again.
    tries_to_start: int = 3
    between_looks: float = 0.05
    # Until the late ones are started: who sees the address has something to ask for first.
    late: float = 5.0
    stop_one: float = 2.0
    stop_all: float = 6.0


@dataclass(frozen=True)
class Supervisor:
    """Runs `specs` in their order and stops them in the opposite one. The caller holds the lock of `home`.

    `say` gets one line for each process, and `on_ready` is called once, when all but the late ones are ready for the
    first time.
    """

    home: Path
    specs: Sequence[ProcessSpec]
    say: Say
    on_ready: Callable[[], None]
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    patience: Patience = field(default_factory=Patience)

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    def run(self) -> int:
        """Return an exit status once asked to stop, or when something does not start. Main thread only."""
        rotate(self.logs, [spec.name for spec in self.specs])
        held, given = self._watch_pipe()
        surroundings = Surroundings(self.logs, given, load_prctl())
        children = [Child(spec, surroundings) for spec in self.specs]
        try:
            with SignalWatch() as signals:
                try:
                    return self._keep(children, signals)
                finally:
                    self._stop(children, signals)
        finally:
            os.close(held)
            os.close(given)

    @staticmethod
    def _watch_pipe() -> tuple[int, int]:
        """Our end, and the children's: theirs ends when we do, since no child inherits ours."""
        read, write = os.pipe()
        return write, read

    def _keep(self, children: list[Child], signals: SignalWatch) -> int:
        for child in children:
            if not child.spec.late:
                _load(child.spec.fork.preload if child.spec.fork else ())
                child.start()
            self.say(f"{child.spec.name:8} port {child.spec.port}  log {self.logs / child.spec.name}.log")
        self._write(children)
        prompt = [child for child in children if not child.spec.late]
        ready_by, was_ready = time.monotonic() + self.patience.start, False
        while not signals.stops:
            before = [child.row for child in children]
            for child in children:
                self._look(child)
            if [child.row for child in children] != before:
                self._write(children)
            if not was_ready:
                was_ready = all(child.state is ProcessState.RUNNING for child in prompt)
                if was_ready:
                    self._when_ready(children)
                elif self._cannot_start(prompt, late=time.monotonic() > ready_by):
                    return 1
            signals.wait(self._until_next_look(children))
        return 0

    def _when_ready(self, children: list[Child]) -> None:
        self.on_ready()
        for child in children:
            _load(child.spec.fork.warm if child.spec.fork else ())
            if child.spec.late:
                child.start_again_at = time.monotonic() + self.patience.late

    def _look(self, child: Child) -> None:
        """Move one process on by what can be seen now."""
        now = time.monotonic()
        if (end := child.reap()) is not None:
            child.deaths_in_a_row = self.restarts.in_a_row(child.deaths_in_a_row, child.served, child.start_took)
            pause = self.restarts.pause(child.deaths_in_a_row)
            child.start_again_at = now + pause
            child.state = ProcessState.RESTARTING
            self.say(f"{child.spec.name:8} ended with {end}; starting it again in {pause:.1f} s")
        if child.start_again_at is not None and now >= child.start_again_at:
            child.start()
        # Alive before, so that it was started at all, and after: somebody else may have answered on its port.
        if child.state is ProcessState.STARTING and child.alive and is_ready(child.spec.ready) and child.alive:
            child.is_seen_ready()

    def _cannot_start(self, children: list[Child], *, late: bool) -> bool:
        """Say what does not start and show why; False while there is still hope."""
        hopeless = [child for child in children if child.deaths_in_a_row >= self.patience.tries_to_start]
        if late:
            hopeless = [child for child in children if child.state is not ProcessState.RUNNING]
        for child in hopeless:
            log = self.logs / f"{child.spec.name}.log"
            self.say(f"{child.spec.name} does not start; the end of {log}:")
            for line in tail(log):
                self.say(f"    {line}")
        return bool(hopeless)

    def _until_next_look(self, children: list[Child]) -> float | None:
        """None: nothing to do until a signal arrives."""
        if any(child.state is ProcessState.STARTING and child.alive for child in children):
            return self.patience.between_looks
        again = [child.start_again_at for child in children if child.start_again_at is not None]
        return max(0.0, min(again) - time.monotonic()) if again else None

    def _stop(self, children: list[Child], signals: SignalWatch) -> None:
        """The last one started first; whoever does not go is killed, and all of them at a second request to stop."""
        for child in children:
            child.state = ProcessState.STOPPING
        self._write(children)
        asked, deadline = signals.stops, time.monotonic() + self.patience.stop_all
        for child in reversed(children):
            child.tell(signal.SIGTERM)
            enough = min(deadline, time.monotonic() + self.patience.stop_one)
            while child.alive and time.monotonic() < enough and signals.stops == asked:
                signals.wait(self.patience.between_looks)
        for child in children:
            child.tell(signal.SIGKILL)
        while any(child.alive for child in children):
            signals.wait(self.patience.between_looks)
        remove_rows(self.home)

    def _write(self, children: list[Child]) -> None:
        write_rows(self.home, [child.row for child in children])


def _load(modules: Sequence[str]) -> None:
    for module in modules:
        import_module(module)
