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
# Of how many skills the engine is asked each time whether it still knows them.
_SAMPLE = 3
_WARM_SECONDS = 3.0
_AGAIN_SECONDS = 1.0
_LOADERS = 64


@dataclass(frozen=True)
class RegistryPauses:
    """In seconds. A file that vanished counts as gone after `grace`: some editors move the old one away first.

    What is shipped is first looked at after `shipped`. The book is looked at every `poll`, the engine asked for its
    list every `registration`, and for runs that nobody called for within `quiet`.
    """

    settle: float = 0.05
    grace: float = 0.3
    poll: float = 0.5
    shipped: float = 15.0
    registration: float = 10.0
    quiet: float = 60.0


class SkillRegistry:
    """Started once; `skill` finds the one a call is for."""

    def __init__(
        self, folders: Sequence[SkillFolder], tools: SidecarDependencies, pauses: RegistryPauses | None = None
    ) -> None:
        self._folders = tuple(folders)
        self._tools = tools
        self._pauses = pauses or RegistryPauses()
        self._lock = threading.Lock()
        # Of two readings of the folders the older one must not be acted on last.
        self._looking = threading.Lock()
        self._skills: dict[str, ServedSkill] = {}
        self._desks: dict[str, SkillWorkQueue] = {}
        self._gone: dict[str, threading.Timer] = {}
        self._unread: frozenset[Path] = frozenset()
        # A file that loads for ever holds one of them for seconds, and steps aside for others.
        self._loaders = ThreadPoolExecutor(_LOADERS, thread_name_prefix="loader")
        # Those that nobody waits for are looked at one after the other.
        self._later = SkillWorkQueue(self._loaders, tools.lanes)
        paths = [folder.path for folder in self._folders]
        self._watch = FolderWatch(paths, self.look, settle=self._pauses.settle)
        self.registration = Registration(tools.engine, self._registered, pause=self._pauses.registration)
        self._sweep = RunSweep(tools, self.skill, self._pauses.quiet)
        self._stopped = threading.Event()
        self._follower = threading.Thread(target=self._begin, name="shelf", daemon=True)

    def start(self) -> None:
        """Serve what served before, then what the files hold; returns at once, readiness is the registration's."""
        self._tools.nursery.keep_spare()
        self._follower.start()

    def stop(self) -> None:
        self._stopped.set()
        self.registration.stop()
        self._watch.stop()
        self._follower.join(10)
        self._loaders.shutdown(wait=True, cancel_futures=True)
        self._tools.checkers.shutdown(wait=True, cancel_futures=True)
        for skill in self._all():
            skill.stop()
        self._tools.nursery.stop()

    def skill(self, stem: str) -> ServedSkill | None:
        """Also one that this process has not come to yet: a run of it may be called for as soon as we listen."""
        with self._lock:
            found = self._skills.get(stem)
        if found is not None:
            return found
        with self._tools.reading() as scope:
            return self._make(stem) if find_skill(scope, stem) is not None else None

    def look(self, unsettled: Set[str] = frozenset()) -> None:
        """Read the folders and bring what serves in step with them, but for skills of which a file is being written."""
        held = {Path(path).stem for path in unsettled}
        with self._looking:
            found = read_folders(self._folders)
            self._note_unread(found.unread)
            for stem, files in found.files.items():
                if stem in held:
                    self._is_back(stem)
                else:
                    self._found(stem, files)
            for skill in self._all():
                if skill.stem in found.files or skill.stem in held or skill.folder in found.unread:
                    continue
                if not skill.is_put_away:
                    self._missed(skill)

    def _begin(self) -> None:
        self._watch.start()
        self._until_done(self._follow_all)
        self._until_done(self.look)
        # Who is told that we are ready saves a skill at once.
        parser = self._tools.checkers.submit(expressions.warm)
        _run_logged(partial(self._tools.nursery.warm, _WARM_SECONDS))
        _run_logged(parser.result)
        self.registration.start()
        self._follow_book()

    def _follow_all(self) -> None:
        with self._tools.reading() as scope:
            known = list_skills(scope)
        for row in known:
            skill = self._make(row.id)
            if not _run_logged(skill.follow):
                self._put(skill, "follow", skill.follow)

    def _until_done(self, work: Callable[[], None]) -> None:
        """The database or the machine may be away at the start: without this nothing would ever be followed."""
        while not self._stopped.is_set() and not _run_logged(work):
            self._stopped.wait(_AGAIN_SECONDS)

    def _note_unread(self, unread: Mapping[Path, str]) -> None:
        for folder in unread.keys() - self._unread:
            _log.warning("%s cannot be read (%s): its skills stay as they are", folder, unread[folder])
        self._unread = frozenset(unread)

    def _is_back(self, stem: str) -> None:
        if (gone := self._gone.pop(stem, None)) is not None:
            gone.cancel()

    def _found(self, stem: str, files: Sequence[SkillFile]) -> None:
        skill = self._make(stem)
        self._is_back(stem)
        if len(files) == 1 and files[0].trouble:
            self._put(skill, "file", partial(skill.unreadable, files[0]))
        elif len(files) == 1:
            self._put(skill, "file", partial(self._offer, skill, files[0]))
        else:
            self._put(skill, "file", partial(skill.clash, files))

    def _offer(self, skill: ServedSkill, file: SkillFile) -> None:
        """A shipped skill is off at first: it is looked at when those that serve are no longer waited for."""
        if file.origin == "shipped" and not skill.note(file):
            timer = threading.Timer(self._pauses.shipped, self._later.put, (file.stem, partial(skill.offer, file)))
            timer.daemon = True
            timer.start()
        else:
            skill.offer(file)

    def _missed(self, skill: ServedSkill) -> None:
        if skill.stem in self._gone:
            return

        def retire() -> None:
            with self._looking:
                if self._gone.get(skill.stem) is timer:
                    del self._gone[skill.stem]
                    self._put(skill, "file", skill.missing)

        timer = threading.Timer(self._pauses.grace, retire)
        self._gone[skill.stem] = timer
        timer.daemon = True
        timer.start()

    def _put(self, skill: ServedSkill, kind: str, work: Callable[[], None]) -> None:
        def done() -> None:
            work()
            if skill.pending:
                self.registration.soon()

        self._desks[skill.stem].put(kind, done)

    def _make(self, stem: str) -> ServedSkill:
        with self._lock:
            if stem not in self._skills:
                self._desks[stem] = SkillWorkQueue(self._loaders, self._tools.lanes)
                self._skills[stem] = ServedSkill(stem, self._tools, partial(self._again, stem), self._forgotten)
            return self._skills[stem]

    def _again(self, stem: str) -> None:
        """A run of it ended: what is on its way may go further."""
        skill = self._make(stem)
        self._put(skill, "follow", skill.follow)

    def _all(self) -> list[ServedSkill]:
        with self._lock:
            return [self._skills[stem] for stem in sorted(self._skills)]

    def _registered(self) -> Sequence[ServedSkill]:
        """Those that have something to tell, and some of the others: an engine that lost its state lost all of them."""
        known = [skill for skill in self._all() if skill.known_to_engine]
        quiet = [skill for skill in known if not skill.pending]
        sample = random.sample(quiet, min(_SAMPLE, len(quiet)))
        return [skill for skill in known if skill.pending] + sample

    def _forgotten(self) -> None:
        for skill in self._all():
            skill.tell_anew()
        self.registration.soon()

    def _follow_book(self) -> None:
        mark, tidied = -1, time.monotonic()
        while not self._stopped.wait(self._pauses.poll):
            mark = self._look_at_book(mark)
            if time.monotonic() - tidied >= min(self._pauses.quiet, self._tools.rules.idle):
                tidied = time.monotonic()
                for skill in self._all():
                    _run_logged(skill.drop_unused)
                _run_logged(self._sweep.once)

    def _look_at_book(self, seen: int) -> int:
        """Follow every skill that somebody else moved; answers the book's mark."""
        mark = seen

        def look() -> None:
            nonlocal mark
            with self._tools.reading() as scope:
                found = sum_epochs(scope)
                rows = list_skills(scope) if found != seen else []
            for row in rows:
                skill = self._make(row.id)
                if skill.epoch != row.epoch:
                    self._put(skill, "follow", skill.follow)
            mark = found

        _run_logged(look)
        return mark


def _run_logged(work: Callable[[], None]) -> bool:
    """Whether it was done. One skill's trouble is not the others': what it raises is seen in the log."""
    try:
        work()
    except Exception:  # noqa: BLE001 - the boundary between skills, and of the thread that looks after them
        _log.exception("a skill could not be looked after")
        return False
    return True
