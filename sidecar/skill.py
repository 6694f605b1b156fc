"""One skill: what serves, what is on its way, what the engine was told, and the processes of all of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from core.errors import InvalidError, LoopwrightError, RefusedError, UnavailableError
from core.orchestrator.door import SERVE_PATH
from sidecar.aside import Aside
from sidecar.asked import answer_test, is_asked
from sidecar.children import Child
from sidecar.folders import SkillFile
from sidecar.intake import take_in
from sidecar.pins import Pins
from sidecar.processes import Processes
from sidecar.seen import Seen, look
from sidecar.told import Told
from sidecar.tools import Tools
from sidecar.trials import begin_shadow, dry_run, fresh_runs, shadow
from skills import book, control, lifecycle, promotion
from skills.problem import Problem, RefusedSkillError
from skills.versions import Version

_log = logging.getLogger(__name__)


class Skill:
    """Saves and moves come one at a time; calls come whenever they like."""

    def __init__(self, stem: str, tools: Tools, again: Callable[[], None], forgotten: Callable[[], None]) -> None:
        """`again` has it followed soon; `forgotten` is called when the engine lost what it was told."""
        self.stem = stem
        self._tools = tools
        self._forgotten = forgotten
        self._work = threading.Lock()
        # Held while a version is registered and takes over: a call that begins a run waits for the outcome.
        self._turnover = threading.RLock()
        self._seen = Seen()
        self._told = Told(stem, self.url, tools)
        self._offered: tuple[str, str] | None = None
        self._noted: SkillFile | None = None
        self._held_up = False
        self._processes = Processes(stem, tools)
        self.runs = Pins(stem, tools, self._turnover, again)
        self._aside = Aside(stem, again)

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"

    @property
    def url(self) -> str:
        return f"{self._tools.url}{SERVE_PATH}/{self.stem}"

    @property
    def epoch(self) -> int:
        """Of the row as this process last saw it."""
        return self._seen.row.epoch if self._seen.row is not None else 0

    @property
    def path(self) -> str:
        return self._seen.row.path if self._seen.row is not None else ""

    @property
    def is_retired(self) -> bool:
        return self._seen.row is not None and self._seen.row.status == "retired"

    @property
    def serving(self) -> Version | None:
        return self._seen.serving

    @property
    def pending(self) -> bool:
        """Whether the engine has yet to hear of something."""
        return self._held_up or self._told.is_news(self._seen.serving)

    @property
    def known_to_engine(self) -> bool:
        """Whether the engine should list it, or has yet to hear that it does not serve."""
        return self._seen.serving is not None or self.pending

    def offer(self, file: SkillFile) -> None:
        """The file holds this now: let it take over, or say why not and keep what serves.

        Raises UnavailableError where no process can be started for it; then it may be offered again.
        """
        place = (file.sha, str(file.path))
        if self._offered == place:
            return
        with self._work:
            self._consider(file)
            self._offered, self._noted = place, None
            self._remove_deleted()
        self.drop_unused()

    def note(self, file: SkillFile) -> bool:
        """Enter the file in the book, unread; whether there is a version of it, or one is wanted."""
        if self._offered == (file.sha, str(file.path)):
            return True
        with self._work:
            row, self._noted = self._enter(file), file
        return row.enabled or row.version_id is not None or row.candidate_id is not None

    def clash(self, files: list[SkillFile]) -> None:
        """Several files bear the name: none of them is taken, and whatever serves goes on."""
        places = " and ".join(str(file.path) for file in files)
        problem = Problem(None, f"{places} are both called {self.stem}", "rename one of them")
        with self._work:
            self._offered = None
            row = self._enter(files[0], moved=False)
            if row.problems != (problem,):
                self._turn_down("", (problem,))

    def missing(self) -> None:
        """The file is gone: no new runs; those that began go on with the code they began with."""
        with self._work:
            self._offered = None
            with self._tools.transaction("skill-retired") as scope:
                control.retire(scope, self.stem, file_gone=True)
            self._look()
            self._tell()
        _log.info("skill %s retired", self.stem)
        self.drop_unused()

    def follow(self) -> None:
        """Somebody moved the skill in the book, or a run of it ended: go where that leads.

        Raises UnavailableError where no process can be started; it may be followed again.
        """
        with self._work:
            row = self._look()
            self._remove_deleted()
            self._tell()
            if (noted := self._noted) is not None and row is not None and row.enabled:
                self._consider(noted)
                self._offered, self._noted = (noted.sha, str(noted.path)), None
            self._advance()
            self._answer_tests()
        self.drop_unused()

    def tell_anew(self) -> None:
        """The engine may have forgotten it."""
        self._told.tell_anew()

    def register(self) -> None:
        """Tell the engine what serves; raises UnavailableError, or RefusedError."""
        if self._held_up:
            # A save that is being loaded tells the engine itself.
            if self._work.acquire(blocking=False):
                try:
                    self._advance(again=False)
                finally:
                    self._work.release()
            return
        if self._seen.row is None:
            self._look()
        if not self.pending:
            # We are asked again, so the engine has forgotten, and not this skill alone.
            self._forgotten()
        with self._turnover:
            serving = self._seen.serving
            try:
                self._told.tell(serving)
            except InvalidError as error:
                # It served before, so it goes on serving: the engine keeps what it knows.
                self._told.forget(serving)
                _log.warning("skill %s: the engine refuses it: %s", self.stem, error)

    def child(self, version: Version) -> Child:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        return self._processes.child(version, self.path or f"{self.stem}.py")

    def drop_unused(self) -> None:
        """End the processes that nobody needs."""
        seen = self._seen
        self._processes.drop_unused({version.sha for version in (seen.serving, seen.tried) if version is not None})

    def stop(self) -> None:
        """End every process of it."""
        self._processes.stop()

    def _look(self) -> book.Skill | None:
        seen = look(self._tools, self.stem)
        with self._turnover:
            if seen.row is None or seen.row.epoch != self.epoch:
                self._processes.forget_grants()
            self._seen = seen
        return seen.row

    def _consider(self, file: SkillFile) -> None:
        row, serving = self._enter(file), self._seen.serving
        if row.refused_sha == file.sha:
            return
        if serving is not None and serving.sha == file.sha:
            self._back_to_serving()
            return
        if self._seen.candidate is None or self._seen.candidate.sha != file.sha:
            self._take_in(file)
        self._advance()

    def _enter(self, file: SkillFile, *, moved: bool = True) -> book.Skill:
        """The row, made where there is none, with the place of its file."""
        row = self._look()
        place = (file.origin, str(file.path))
        if row is not None and ((row.origin, row.path) == place or not moved):
            return row
        with self._tools.transaction("skill-entered") as scope:
            entered = book.enter(
                scope, self.stem, origin=file.origin, path=str(file.path), enabled=file.origin != "shipped"
            )
            book.save(scope, replace(entered, origin=file.origin, path=str(file.path)))
        row = self._look()
        assert row is not None
        return row

    def _take_in(self, file: SkillFile) -> None:
        self._processes.loading(file.sha)
        try:
            take_in(self._tools, self._processes, file, self.url, self.drop_unused)
            self._look()
        except RefusedSkillError as error:
            self._processes.loading("")
            self._turn_down(file.sha, error.problems)
        finally:
            self._processes.loading("")

    def _back_to_serving(self) -> None:
        """The file holds again what serves."""
        row = self._seen.row
        if row is not None and (row.problems or row.candidate_id):
            with self._tools.transaction("skill-as-before") as scope:
                promotion.as_before(scope, self.stem)
            self._look()
            self.drop_unused()

    def _turn_down(self, sha: str, problems: tuple[Problem, ...]) -> None:
        _log.warning("skill %s refused: %s", self.stem, "; ".join(problem.reason for problem in problems))
        with self._tools.transaction("skill-refused") as scope:
            promotion.refuse(scope, self.stem, sha, problems)
        self._look()
        self.drop_unused()

    def _advance(self, *, again: bool = True) -> None:
        """Let the candidate go as far as it may. `again`: what the engine cannot hear now is told later."""
        while (candidate := self._seen.candidate) is not None and self._move(candidate, again=again):
            self._look()

    def _move(self, candidate: Version, *, again: bool) -> bool:
        """One move of the candidate; False when it has to wait."""
        rules = self._tools.rules
        with self._tools.reading() as scope:
            facts = promotion.facts_of(
                scope,
                book.get(scope, self.stem),
                candidate,
                always_ask=rules.always_ask,
                canary_runs=rules.canary_runs,
                shadow_runs=rules.shadow_runs,
            )
        match lifecycle.next_move(facts):
            case "hold":
                self._shadow(candidate)
                return False
            case "ask":
                with self._tools.transaction("skill-asks") as scope:
                    promotion.wait(scope, self.stem, candidate, facts.missing)
            case "dry_run":
                assert self._seen.serving is not None
                self._aside.begin(partial(dry_run, self._tools, self._seen.serving, candidate))
                return False
            case "shadow":
                begin_shadow(self._tools, candidate)
            case "canary":
                with self._tools.transaction("skill-stage") as scope:
                    promotion.stage(scope, self.stem, candidate, "canary")
                _log.info("skill %s version %d: its first runs begin", self.stem, candidate.number)
            case "refuse":
                fix = "read its runs, correct it and save it again"
                self._turn_down(candidate.sha, (Problem(None, lifecycle.why_refused(facts), fix),))
            case "activate":
                return self._activate(candidate, again=again)
        return True

    def _activate(self, candidate: Version, *, again: bool) -> bool:
        """It takes over once it loads and the engine took it."""
        try:
            self.child(candidate)
        except RefusedSkillError as error:
            self._turn_down(candidate.sha, error.problems)
            return True
        with self._turnover:
            try:
                self._told.tell(candidate)
            except InvalidError as error:
                problem = Problem(None, f"the engine refuses it: {error}", "correct the trigger or option it names")
                self._turn_down(candidate.sha, (problem,))
                return True
            except (UnavailableError, RefusedError) as error:
                self._held_up = True
                if not again:
                    raise
                _log.warning("skill %s waits to be registered: %s", self.stem, error)
                return False
            self._held_up = False
            with self._tools.transaction("skill-active") as scope:
                promotion.activate(scope, self.stem, candidate)
            self._look()
        if self._seen.serving is not None and self._seen.serving.id == candidate.id:
            _log.info("skill %s version %d live, sha256 %s", self.stem, candidate.number, candidate.sha)
        self.drop_unused()
        return True

    def _shadow(self, candidate: Version) -> None:
        """Where runs ended beside a candidate in its shadow, try it on them."""
        serving = self._seen.serving
        if (
            candidate.stage == "shadow"
            and serving is not None
            and (fresh := fresh_runs(self._tools, serving, candidate))
        ):
            self._aside.begin(partial(shadow, self._tools, candidate, fresh))

    def _answer_tests(self) -> None:
        """Somebody may have asked to have a version tried."""
        for version in (self._seen.candidate, self._seen.serving):
            if version is not None and is_asked(version):
                self._aside.begin(partial(answer_test, self._tools, version))

    def _tell(self) -> None:
        """Tell the engine at once; what it cannot hear is told later."""
        if not self._told.is_news(self._seen.serving):
            return
        try:
            self.register()
        except LoopwrightError as error:
            _log.warning("skill %s waits to be registered: %s", self.stem, error)

    def _remove_deleted(self) -> None:
        """Who deletes a skill deletes its file, if that still holds what was deleted."""
        row = self._seen.row
        if row is None or row.status != "retired" or row.origin == "shipped" or not row.refused_sha:
            return
        if self._offered == (row.refused_sha, row.path):
            try:
                Path(row.path).unlink(missing_ok=True)
            except OSError as error:
                _log.warning("the file of skill %s stays: %s", self.stem, error)
