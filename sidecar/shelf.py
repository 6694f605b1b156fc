"""All skills: keeps what serves in step with the files."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from core.clock import Clock
from core.errors import LoopwrightError, NotFoundError
from core.orchestrator.engine import Engine
from core.orchestrator.registration import Registration
from sidecar.children import Nursery, Reach
from sidecar.folders import SkillFile, read_folders
from sidecar.ledger import Ledger, Pin
from sidecar.serving import Shown
from sidecar.skill import Skill, Tools
from sidecar.snapshots import Snapshots
from sidecar.state import StateFile
from sidecar.watching import FolderWatch

_log = logging.getLogger(__name__)
_LOADS_AT_ONCE = 4
_ENDED = {"completed", "failed", "cancelled"}


@dataclass(frozen=True)
class ShelfConfig:
    """`folders` in the order of their weight; `data` is the sidecar's own folder; `url` as the engine reaches us.

    A file that vanished counts as gone after `grace` seconds: some editors move the old one away first.
    """

    folders: tuple[Path, ...]
    data: Path
    url: str
    engine: Engine
    clock: Clock
    settle: float = 0.05
    grace: float = 0.3
    pause: float = 10.0
    housekeeping: float = 0.5
    quiet: timedelta = timedelta(minutes=1)


class _Desk:
    """One skill's place in line: the newest file waits, older ones that were not begun are skipped."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: SkillFile | None = None
        self.gone: threading.Timer | None = None


class Shelf:
    """Started once; `skill` finds the one a call is for."""

    def __init__(self, config: ShelfConfig) -> None:
        self._config = config
        data = config.data
        self._ledger = Ledger(data / "sidecar.sqlite")
        self._state = StateFile(data / "state.json", self.shown, config.clock.now)
        engine = config.engine
        reach = Reach(engine.api_url, engine.events_url, engine.event_key)
        self._nursery = Nursery(data / "run", reach, config.clock)
        self._tools = Tools(
            engine=engine,
            url=config.url,
            nursery=self._nursery,
            ledger=self._ledger,
            snapshots=Snapshots(data / "sources"),
            clock=config.clock,
            changed=self._state.stale,
        )
        self._lock = threading.Lock()
        self._skills: dict[str, Skill] = {}
        self._desks: dict[str, _Desk] = {}
        self._loaders = ThreadPoolExecutor(_LOADS_AT_ONCE, thread_name_prefix="loader")
        self._watch = FolderWatch(config.folders, self.look, settle=config.settle)
        self.registration = Registration(engine, self._registered, pause=config.pause)
        self._stopped = threading.Event()

    def start(self) -> None:
        """Serve what served before, then what the files hold; returns at once, readiness is the registration's."""
        self._nursery.keep_spare()
        self._state.start()
        threading.Thread(target=self._begin, name="shelf-begin", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self.registration.stop()
        self._watch.stop()
        self._loaders.shutdown(wait=True, cancel_futures=True)
        for skill in self._all():
            skill.stop()
        self._nursery.stop()
        self._state.stop()
        self._ledger.close()

    def skill(self, stem: str) -> Skill | None:
        with self._lock:
            return self._skills.get(stem)

    def shown(self) -> list[Shown]:
        return [skill.shown() for skill in self._all()]

    def look(self) -> None:
        """Read the folders and bring what serves in step with them."""
        files = read_folders(self._config.folders)
        for stem, file in files.items():
            self._offer(stem, file)
        for skill in self._all():
            if skill.stem not in files:
                self._miss(skill.stem)

    def _begin(self) -> None:
        self._watch.start()
        kept = self._ledger.kept()
        wait([self._loaders.submit(_logged, partial(self._make(stem).restore, one)) for stem, one in kept.items()])
        self.look()
        self.registration.start()
        self._keep_house()

    def _offer(self, stem: str, file: SkillFile) -> None:
        skill, desk = self._make(stem), self._desks[stem]
        if desk.gone is not None:
            desk.gone.cancel()
            desk.gone = None
        desk.waiting = file

        def work() -> None:
            with desk.lock:
                newest, desk.waiting = desk.waiting, None
                if newest is not None:
                    skill.offer(newest)
            if skill.pending:
                self.registration.soon()

        self._loaders.submit(_logged, work)

    def _miss(self, stem: str) -> None:
        skill, desk = self._make(stem), self._desks[stem]
        if skill.shown().status == "retired" or desk.gone is not None:
            return

        def retire() -> None:
            with desk.lock:
                desk.waiting = None
                skill.retire()
            if skill.pending:
                self.registration.soon()

        desk.gone = threading.Timer(self._config.grace, self._loaders.submit, (_logged, retire))
        desk.gone.daemon = True
        desk.gone.start()

    def _make(self, stem: str) -> Skill:
        with self._lock:
            if stem not in self._skills:
                self._skills[stem] = Skill(stem, self._tools)
                self._desks[stem] = _Desk()
            return self._skills[stem]

    def _all(self) -> list[Skill]:
        with self._lock:
            return [self._skills[stem] for stem in sorted(self._skills)]

    def _registered(self) -> Sequence[Skill]:
        return [skill for skill in self._all() if skill.known_to_engine]

    def _keep_house(self) -> None:
        last_sweep = time.monotonic()
        while not self._stopped.wait(self._config.housekeeping):
            for skill in self._all():
                _logged(skill.keep_alive)
            if time.monotonic() - last_sweep >= self._config.quiet.total_seconds():
                last_sweep = time.monotonic()
                _logged(self._sweep)

    def _sweep(self) -> None:
        for pin in self._ledger.quiet_pins(self._config.clock.now(), self._config.quiet):
            _logged(partial(self._ask_after, pin))

    def _ask_after(self, pin: Pin) -> None:
        """A run that was cancelled is not heard of again: the engine knows."""
        skill = self.skill(pin.stem)
        try:
            found = self._config.engine.get(f"/v1/runs/{pin.run_id}")
            ended = str((found or {}).get("data", {}).get("status", "")).lower() in _ENDED
        except NotFoundError:
            ended = True
        except LoopwrightError:
            return
        if ended:
            if skill is not None:
                skill.run_ended(pin.run_id)
            else:
                self._ledger.unpin(pin.run_id)


def _logged(work: Callable[[], None]) -> None:
    """One skill's trouble is not the others': what it raises is our fault, and is seen in the log."""
    try:
        work()
    except Exception:  # noqa: BLE001 - the boundary between skills
        _log.exception("a skill could not be looked after")
