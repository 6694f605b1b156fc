"""Registry of all skills: keeps what serves in step with the files and with the book."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.orchestrator.registration import Registration
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.served_skill import ServedSkill
from sidecar.rollout.work_queue import SkillWorkQueue
from sidecar.serve.run_sweep import RunSweep
from sidecar.watch.folder_watch import FolderWatch
from sidecar.watch.folders import SkillFile, SkillFolder, read_folders
from skills.book.skill import find_skill, list_skills, sum_epochs
from skills.format import expressions

_log = logging.getLogger(__name__)
# How many registered skills the engine is asked about each time.
_SAMPLE = 3
_WARM_SECONDS = 3.0
_AGAIN_SECONDS = 1.0
_LOADERS = 64


@dataclass(frozen=True)
class RegistryPauses:
    """Pauses in seconds.

    A vanished file counts as gone after `grace`: some editors move the old file away before they write the new one. New
    shipped skills are checked after `shipped`. The book is read every `poll` seconds, and the engine's list every
    `registration`. The engine is asked about runs that were not called for `quiet` seconds.
    """

    settle: float = 0.05
    grace: float = 0.3
    poll: float = 0.5
    shipped: float = 15.0
    registration: float = 10.0
    quiet: float = 60.0


class SkillRegistry:
    """All skills of a sidecar, kept up to date by one thread; started once."""

    def __init__(
        self, folders: Sequence[SkillFolder], dependencies: SidecarDependencies, pauses: RegistryPauses | None = None
    ) -> None:
        self._folders = tuple(folders)
        self._dependencies = dependencies
        self._pauses = pauses or RegistryPauses()
        self._lock = threading.Lock()
        # Scans run one at a time, so that an older reading of the folders is never acted on last.
        self._scan_lock = threading.Lock()
        self._skills: dict[str, ServedSkill] = {}
        self._queues: dict[str, SkillWorkQueue] = {}
        self._retirements: dict[str, threading.Timer] = {}
        self._unread: frozenset[Path] = frozenset()
        # A file that never finishes loading holds a thread for seconds, but not its worker slot.
        self._loaders = ThreadPoolExecutor(_LOADERS, thread_name_prefix="loader")
        # Shipped skills that do not serve are checked one after the other.
        self._shipped_queue = SkillWorkQueue(self._loaders, dependencies.worker_slots)
        paths = [folder.path for folder in self._folders]
        self._watch = FolderWatch(paths, self.scan_folders, settle=self._pauses.settle)
        self.registration = Registration(dependencies.engine, self._list_to_register, pause=self._pauses.registration)
        self._sweep = RunSweep(dependencies, self.skill, self._pauses.quiet)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="registry", daemon=True)

    def start(self) -> None:
        """Begin to serve what served before, then what the files hold.

        Returns immediately; `registration` knows when the skills are ready.
        """
        self._dependencies.spawner.keep_spare()
        self._thread.start()

    def stop(self) -> None:
        """Stop watching and end all processes."""
        self._stopped.set()
        self.registration.stop()
        self._watch.stop()
        self._thread.join(10)
        self._loaders.shutdown(wait=True, cancel_futures=True)
        self._dependencies.checkers.shutdown(wait=True, cancel_futures=True)
        for skill in self._all():
            skill.stop()
        self._dependencies.spawner.stop()

    def skill(self, stem: str) -> ServedSkill | None:
        """Return the skill; also one not followed yet, since its runs may be called as soon as the sidecar listens."""
        with self._lock:
            found = self._skills.get(stem)
        if found is not None:
            return found
        with self._dependencies.reading() as scope:
            return self._get_or_make(stem) if find_skill(scope, stem) is not None else None

    def scan_folders(self, unsettled: Set[str] = frozenset()) -> None:
        """Read the folders and act on every change.

        Skills with a file among `unsettled`, which is still being written, are left out.
        """
        unsettled_stems = {Path(path).stem for path in unsettled}
        with self._scan_lock:
            found = read_folders(self._folders)
            self._note_unread(found.unread)
            for stem, files in found.files.items():
                if stem in unsettled_stems:
                    self._cancel_retirement(stem)
                else:
                    self._take_files(stem, files)
            for skill in self._all():
                if skill.stem in found.files or skill.stem in unsettled_stems or skill.folder in found.unread:
                    continue
                if not skill.is_put_away:
                    self._retire_later(skill)

    def _run(self) -> None:
        """Serve what served before, take in the files, report ready, then follow the book until stopped."""
        self._watch.start()
        self._repeat_until_done(self._follow_all)
        self._repeat_until_done(self.scan_folders)
        # The process and the parser are warmed up before the sidecar reports ready, so that a first save is fast.
        parser = self._dependencies.checkers.submit(expressions.warm)
        _run_logged(partial(self._dependencies.spawner.warm_up, _WARM_SECONDS))
        _run_logged(parser.result)
        self.registration.start()
        self._follow_book()

    def _follow_all(self) -> None:
        with self._dependencies.reading() as scope:
            known = list_skills(scope)
        for row in known:
            skill = self._get_or_make(row.id)
            if not _run_logged(skill.follow):
                self._enqueue(skill, "follow", skill.follow)

    def _repeat_until_done(self, work: Callable[[], None]) -> None:
        """Repeat until it succeeds: the database or the machine may be away at the start."""
        while not self._stopped.is_set() and not _run_logged(work):
            self._stopped.wait(_AGAIN_SECONDS)

    def _note_unread(self, unread: Mapping[Path, str]) -> None:
        for folder in unread.keys() - self._unread:
            _log.warning("%s cannot be read (%s): its skills stay as they are", folder, unread[folder])
        self._unread = frozenset(unread)

    def _cancel_retirement(self, stem: str) -> None:
        if (retirement := self._retirements.pop(stem, None)) is not None:
            retirement.cancel()

    def _take_files(self, stem: str, files: Sequence[SkillFile]) -> None:
        skill = self._get_or_make(stem)
        self._cancel_retirement(stem)
        if len(files) == 1 and files[0].trouble:
            self._enqueue(skill, "file", partial(skill.refuse_unreadable, files[0]))
        elif len(files) == 1:
            self._enqueue(skill, "file", partial(self._offer, skill, files[0]))
        else:
            self._enqueue(skill, "file", partial(skill.refuse_clash, files))

    def _offer(self, skill: ServedSkill, file: SkillFile) -> None:
        """Offer the file. A new shipped skill is off, so its check waits until the skills that serve are ready."""
        if file.origin == "shipped" and not skill.enter(file):
            timer = threading.Timer(
                self._pauses.shipped, self._shipped_queue.put, (file.stem, partial(skill.offer, file))
            )
            timer.daemon = True
            timer.start()
        else:
            skill.offer(file)

    def _retire_later(self, skill: ServedSkill) -> None:
        """Retire the skill after a grace period, unless its file comes back."""
        if skill.stem in self._retirements:
            return

        def retire() -> None:
            with self._scan_lock:
                if self._retirements.get(skill.stem) is timer:
                    del self._retirements[skill.stem]
                    self._enqueue(skill, "file", skill.retire)

        timer = threading.Timer(self._pauses.grace, retire)
        self._retirements[skill.stem] = timer
        timer.daemon = True
        timer.start()

    def _enqueue(self, skill: ServedSkill, kind: str, work: Callable[[], None]) -> None:
        """Queue work for the skill; register it afterwards if that is needed."""

        def done() -> None:
            work()
            if skill.pending:
                self.registration.soon()

        self._queues[skill.stem].put(kind, done)

    def _get_or_make(self, stem: str) -> ServedSkill:
        with self._lock:
            if stem not in self._skills:
                self._queues[stem] = SkillWorkQueue(self._loaders, self._dependencies.worker_slots)
                self._skills[stem] = ServedSkill(
                    stem, self._dependencies, partial(self._follow_soon, stem), self._register_all_again
                )
            return self._skills[stem]

    def _follow_soon(self, stem: str) -> None:
        """Follow the skill, since a run of it ended or a trial did."""
        skill = self._get_or_make(stem)
        self._enqueue(skill, "follow", skill.follow)

    def _all(self) -> list[ServedSkill]:
        with self._lock:
            return [self._skills[stem] for stem in sorted(self._skills)]

    def _list_to_register(self) -> Sequence[ServedSkill]:
        """List the skills with a pending registration and a sample of the others.

        An engine that lost its state lost every registration, so a sample suffices to notice.
        """
        known = [skill for skill in self._all() if skill.known_to_engine]
        quiet = [skill for skill in known if not skill.pending]
        sample = random.sample(quiet, min(_SAMPLE, len(quiet)))
        return [skill for skill in known if skill.pending] + sample

    def _register_all_again(self) -> None:
        """Register all skills again, since the engine has lost its state."""
        for skill in self._all():
            skill.invalidate_registration()
        self.registration.soon()

    def _follow_book(self) -> None:
        epochs, tidied = -1, time.monotonic()
        while not self._stopped.wait(self._pauses.poll):
            epochs = self._follow_changes(epochs)
            if time.monotonic() - tidied >= min(self._pauses.quiet, self._dependencies.rules.idle):
                tidied = time.monotonic()
                for skill in self._all():
                    _run_logged(skill.drop_unused)
                _run_logged(self._sweep.run_once)

    def _follow_changes(self, seen: int) -> int:
        """Follow every skill that another process changed in the book; return the new sum of epochs."""
        epochs = seen

        def follow_moved() -> None:
            nonlocal epochs
            with self._dependencies.reading() as scope:
                found = sum_epochs(scope)
                rows = list_skills(scope) if found != seen else []
            for row in rows:
                skill = self._get_or_make(row.id)
                if skill.epoch != row.epoch:
                    self._enqueue(skill, "follow", skill.follow)
            epochs = found

        _run_logged(follow_moved)
        return epochs


def _run_logged(work: Callable[[], None]) -> bool:
    """Run the work, log what it raises, and return whether it succeeded: one skill's failure must not stop others."""
    try:
        work()
    except Exception:  # noqa: BLE001 - the boundary between skills, and of the thread that looks after them
        _log.exception("work of the registry failed")
        return False
    return True
