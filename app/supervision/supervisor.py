"""Start all processes of a product, keep them alive, and stop them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType, TracebackType

from app.supervision.child import SupervisedProcess, Surroundings
from app.supervision.home_state import ProcessState, remove_rows, write_rows
from app.supervision.probe import is_ready
from app.supervision.process_spec import ProcessSpec
from core.process.parent_death import load_prctl

Say = Callable[[str], None]
_TAIL_BYTES = 4_000
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalWatch:
    """Counts requests to stop while open; `wait` wakes at each of them and at the death of a child.

    Only the main thread may open it. Restores the previous handlers at the end.
    """

    def __init__(self) -> None:
        self.stops = 0

    def __enter__(self) -> SignalWatch:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._old_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._old = {number: signal.signal(number, self._stop) for number in _STOP_SIGNALS}
        self._old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, self._child)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup)
        os.close(self._read)
        os.close(self._write)

    def wait(self, seconds: float | None) -> None:
        """Sleep until a signal arrives, at most this long; None: without limit."""
        ready, _, _ = select.select([self._read], [], [], seconds)
        if ready:
            os.read(self._read, 4096)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1

    def _child(self, number: int, frame: FrameType | None) -> None:
        pass


def rotate_logs(logs: Path, names: Iterable[str]) -> None:
    """Create the log folder and rename the logs of an earlier start to `.log.1`."""
    logs.mkdir(mode=0o700, exist_ok=True)
    for name in names:
        log = logs / f"{name}.log"
        if log.exists():
            os.replace(log, log.with_suffix(".log.1"))


def read_log_tail(log: Path, lines: int = 5) -> list[str]:
    """Return the last lines that are not blank."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]


@dataclass(frozen=True)
class RestartPolicy:
    """Pauses before restarts, in seconds: the first is short, each further one in a row is longer."""

    first: float = 0.2
    factor: float = 2.0
    longest: float = 15.0
    # A process that was ready for this long, and for as long as its start took, counts as healthy: its next death is
    # the first of a new row. One that always dies so late spends more time on its work than on its starts.
    healthy_after: float = 1.0

    def pause(self, deaths_in_a_row: int) -> float:
        """Return the pause after this many deaths in a row, the last one included."""
        # The exponent is capped: a float overflows after a thousand deaths.
        return float(min(self.longest, self.first * self.factor ** min(deaths_in_a_row - 1, 32)))

    def in_a_row(self, deaths_before: int, served: float, start_took: float) -> int:
        """Return the count of deaths in a row after another death; `served` is how long the process was ready."""
        return 1 if served >= max(self.healthy_after, start_took) else deaths_before + 1


@dataclass(frozen=True)
class Patience:
    """Time limits of the supervisor, in seconds."""

    start: float = 90.0
    # A process that dies this often in a row without ever being ready is given up.
    tries_to_start: int = 3
    between_looks: float = 0.05
    # Pause before the late processes start: the first requests of a user come first.
    late: float = 5.0
    stop_one: float = 2.0
    stop_all: float = 6.0


@dataclass(frozen=True)
class Supervisor:
    """Starts `specs` in order, keeps them alive, and stops them in reverse. The caller holds the lock of `home`.

    `say` gets the lines to print. `on_ready` is called once, when all but the late processes are ready.
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
        """Run until asked to stop, or until something does not start; return an exit status. Main thread only."""
        rotate_logs(self.logs, [spec.name for spec in self.specs])
        own_end, child_end = self._watch_pipe()
        surroundings = Surroundings(self.logs, child_end, load_prctl())
        children = [SupervisedProcess(spec, surroundings) for spec in self.specs]
        try:
            with SignalWatch() as signals:
                try:
                    return self._keep(children, signals)
                finally:
                    self._stop(children, signals)
        finally:
            os.close(own_end)
            os.close(child_end)

    @staticmethod
    def _watch_pipe() -> tuple[int, int]:
        """Return our end and the children's. Theirs closes when we die, since no child inherits ours."""
        read, write = os.pipe()
        return write, read

    def _keep(self, children: list[SupervisedProcess], signals: SignalWatch) -> int:
        for child in children:
            if not child.spec.late:
                _import_modules(child.spec.fork.preload if child.spec.fork else ())
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

    def _when_ready(self, children: list[SupervisedProcess]) -> None:
        self.on_ready()
        for child in children:
            _import_modules(child.spec.fork.warm if child.spec.fork else ())
            if child.spec.late:
                child.start_again_at = time.monotonic() + self.patience.late

    def _look(self, child: SupervisedProcess) -> None:
        """Check one process: note its death, start it again when due, note that it is ready."""
        now = time.monotonic()
        if (end := child.reap()) is not None:
            child.deaths_in_a_row = self.restarts.in_a_row(child.deaths_in_a_row, child.served, child.start_took)
            pause = self.restarts.pause(child.deaths_in_a_row)
            child.start_again_at = now + pause
            child.state = ProcessState.RESTARTING
            self.say(f"{child.spec.name:8} ended with {end}; starting it again in {pause:.1f} s")
        if child.start_again_at is not None and now >= child.start_again_at:
            child.start()
        # Alive before and after: otherwise another program may have answered on its port.
        if child.state is ProcessState.STARTING and child.alive and is_ready(child.spec.ready) and child.alive:
            child.mark_ready()

    def _cannot_start(self, children: list[SupervisedProcess], *, late: bool) -> bool:
        """Return whether a process is given up, after printing which and the end of its log."""
        hopeless = [child for child in children if child.deaths_in_a_row >= self.patience.tries_to_start]
        if late:
            hopeless = [child for child in children if child.state is not ProcessState.RUNNING]
        for child in hopeless:
            log = self.logs / f"{child.spec.name}.log"
            self.say(f"{child.spec.name} does not start; the end of {log}:")
            for line in read_log_tail(log):
                self.say(f"    {line}")
        return bool(hopeless)

    def _until_next_look(self, children: list[SupervisedProcess]) -> float | None:
        """Return the seconds until the next check; None: nothing to do until a signal arrives."""
        if any(child.state is ProcessState.STARTING and child.alive for child in children):
            return self.patience.between_looks
        again = [child.start_again_at for child in children if child.start_again_at is not None]
        return max(0.0, min(again) - time.monotonic()) if again else None

    def _stop(self, children: list[SupervisedProcess], signals: SignalWatch) -> None:
        """Stop all, the last started first. Kill those that do not exit in time, or all at a second request to stop."""
        for child in children:
            child.state = ProcessState.STOPPING
        self._write(children)
        stops_before, deadline = signals.stops, time.monotonic() + self.patience.stop_all
        for child in reversed(children):
            child.send_signal(signal.SIGTERM)
            enough = min(deadline, time.monotonic() + self.patience.stop_one)
            while child.alive and time.monotonic() < enough and signals.stops == stops_before:
                signals.wait(self.patience.between_looks)
        for child in children:
            child.send_signal(signal.SIGKILL)
        while any(child.alive for child in children):
            signals.wait(self.patience.between_looks)
        remove_rows(self.home)

    def _write(self, children: list[SupervisedProcess]) -> None:
        write_rows(self.home, [child.row for child in children])


def _import_modules(modules: Sequence[str]) -> None:
    for module in modules:
        import_module(module)
