"""One skill: the version that serves, the versions that runs began on, and what is wrong with the last save."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.clock import Clock
from core.errors import InvalidError, RefusedError, UnavailableError
from core.orchestrator.door import SERVE_PATH
from core.orchestrator.engine import Engine
from sidecar.brood import Brood
from sidecar.children import Child, Nursery, Version
from sidecar.folders import SkillFile
from sidecar.ledger import Kept, Ledger
from sidecar.registering import checked, register
from sidecar.serving import Serving, Shown
from sidecar.snapshots import Snapshots
from skills.manifest import read_manifest
from skills.problem import Problem, RefusedSkillError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tools:
    """What every skill of a sidecar works with. `changed` is called after each change that others may see."""

    engine: Engine
    url: str
    nursery: Nursery
    ledger: Ledger
    snapshots: Snapshots
    clock: Clock
    changed: Callable[[], None]


class Skill:
    """Offers come one at a time; calls come whenever they like."""

    def __init__(self, stem: str, tools: Tools) -> None:
        self.stem = stem
        self._tools = tools
        # Held while a version is registered and takes over: a call that begins a run waits for the outcome.
        self._lock = threading.RLock()
        self._current: Serving | None = None
        self._next: Serving | None = None
        self._retired = False
        self._told = False
        self._source = ""
        self._problems: tuple[Problem, ...] = ()
        self._refused_sha = ""
        self._offered_sha = ""
        self._loading: str | None = None
        self._brood = Brood(tools.nursery)

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"

    @property
    def url(self) -> str:
        return f"{self._tools.url}{SERVE_PATH}/{self.stem}"

    def shown(self) -> Shown:
        with self._lock:
            if self._current is not None:
                status = "active"
            elif self._retired:
                status = "retired"
            else:
                status = "refused" if self._problems else "checking"
            return Shown(self.stem, status, self._current, self._source, self._problems)

    def restore(self, kept: Kept) -> None:
        """Serve what served before the sidecar was started, whatever the file holds by now."""
        source = self._tools.snapshots.read(kept.sha)
        self._source = kept.source
        if kept.retired or source is None:
            self._retired = kept.retired
            self._told = kept.told
            return
        version = self._version(kept.sha, kept.source)
        try:
            loaded = self._load(version, source)
        except RefusedSkillError as error:
            self._refuse(error, "")
            return
        with self._lock:
            self._current = Serving(version, loaded.manifest, loaded.functions, kept.number)
        self._tools.changed()

    def offer(self, file: SkillFile) -> None:
        """The file holds this now: let it take over, or say why not and keep what serves."""
        with self._lock:
            self._show_source(str(file.path))
            serves = self._current is not None and self._current.version.sha == file.sha
            if file.sha == self._refused_sha:
                return
            if serves:
                self._back_to_current()
                return
            self._retired = False
            self._offered_sha = file.sha
        self._tools.changed()
        try:
            self._tools.snapshots.keep(file.sha, file.source)
            loaded = self._load(self._version(file.sha, str(file.path)), file.source)
            with self._lock:
                self._next, self._told = loaded, False
                self._register()
        except RefusedSkillError as error:
            self._refuse(error, file.sha)
        except (UnavailableError, RefusedError) as error:
            _log.warning("skill %s waits to be registered: %s", self.stem, error)

    def retire(self) -> None:
        """The file is gone: no new runs; those that began go on with the code they began with."""
        with self._lock:
            known = self.stem in self._tools.ledger.kept()
            self._current, self._next, self._retired, self._told = None, None, True, not known
            self._problems, self._refused_sha = (), ""
            self._tools.ledger.retire(self.stem, told=False)
            try:
                if known:
                    self._register()
            except (UnavailableError, RefusedError) as error:
                _log.warning("skill %s waits to be taken from the engine: %s", self.stem, error)
        _log.info("skill %s retired", self.stem)
        self._drop_unused()
        self._tools.changed()

    @property
    def pending(self) -> bool:
        with self._lock:
            return not self._told and (self._current is not None or self._next is not None or self._retired)

    @property
    def known_to_engine(self) -> bool:
        """Whether the engine should list it, or has yet to hear that it is gone."""
        with self._lock:
            return self._current is not None or self.pending

    def register(self) -> None:
        """Tell the engine what serves, or what serves from now on; raises UnavailableError, or RefusedError."""
        try:
            self._register()
        except RefusedSkillError as error:
            self._refuse(error, self._offered_sha)
        except InvalidError as error:
            # It served before, so it goes on serving: the engine keeps what it knows.
            self._told = True
            self._refuse(RefusedSkillError(Problem(None, f"the engine refuses it: {error}", "save it again")), "")

    def _register(self) -> None:
        """A waiting version takes over once the engine took it, else RefusedSkillError is raised and it goes."""
        with self._lock:
            wanted = self._next or self._current
            if wanted is None:
                if self._retired:
                    register(self._tools.engine, self.app_id, self.url, [], "")
                    self._tools.ledger.retire(self.stem, told=True)
                self._told = True
                return
            try:
                register(self._tools.engine, self.app_id, self.url, wanted.functions, wanted.version.sha)
            except (InvalidError, RefusedError) as error:
                if isinstance(error, RefusedError) or self._next is None:
                    raise
                self._next, self._told = None, True
                raise RefusedSkillError(
                    Problem(None, f"the engine refuses it: {error}", "correct the trigger or option it names")
                ) from None
            self._told = True
            if self._next is None:
                return
            kept = self._tools.ledger.serve(self.stem, wanted.version.sha, wanted.version.path)
            self._current = Serving(wanted.version, wanted.manifest, wanted.functions, kept.number)
            self._next, self._problems, self._refused_sha, self._loading = None, (), "", None
        _log.info("skill %s version %d live, sha256 %s", self.stem, kept.number, kept.sha)
        self._drop_unused()
        self._tools.changed()

    def version_for(self, run_id: str) -> Version | None:
        """The version this run began on, or begins on now; None when the skill is gone."""
        with self._lock:
            now = self._current.version if self._current is not None else None
            sha = self._tools.ledger.pin(run_id, self.stem, now.sha if now else None, self._tools.clock.now())
            if sha is None or (now is not None and now.sha == sha):
                return now
            return self._version(sha, self._source)

    def child(self, version: Version) -> Child:
        """The living process of a version; raises RefusedSkillError or UnavailableError."""
        return self._brood.child(version)

    def run_ended(self, run_id: str) -> None:
        self._tools.ledger.unpin(run_id)
        self._drop_unused()

    def keep_alive(self) -> None:
        """Start the serving version's process again when it died."""
        with self._lock:
            current = self._current
        if current is None or not self._brood.is_dead(current.version.sha):
            return
        try:
            self._brood.child(current.version)
            _log.warning("skill %s: its process had ended and was started again", self.stem)
        except UnavailableError:
            return
        except RefusedSkillError as error:
            _log.warning("skill %s does not start again: %s", self.stem, error)

    def stop(self) -> None:
        """End every process of it."""
        self._brood.stop()

    def _show_source(self, source: str) -> None:
        if source != self._source:
            self._source = source
            self._tools.changed()

    def _back_to_current(self) -> None:
        """The file holds again what serves."""
        if self._problems or self._next is not None:
            self._problems, self._refused_sha, self._next = (), "", None
            self._tools.changed()

    def _load(self, version: Version, source: bytes) -> Serving:
        began = time.monotonic()
        manifest = read_manifest(source)
        self._loading = version.sha
        try:
            functions = checked(self.child(version).functions(self.url, self.stem), self.app_id, self.url)
        except UnavailableError as error:
            raise RefusedSkillError(Problem(None, str(error), "keep the file from ending its process")) from None
        _log.info("skill %s checked and loaded in %.0f ms", self.stem, (time.monotonic() - began) * 1000)
        return Serving(version, manifest, tuple(functions))

    def _refuse(self, error: RefusedSkillError, sha: str) -> None:
        _log.warning("skill %s refused: %s", self.stem, error)
        with self._lock:
            self._problems, self._refused_sha, self._loading = error.problems, sha, None
        self._drop_unused()
        self._tools.changed()

    def _drop_unused(self) -> None:
        """End the processes of versions that neither serve nor have runs."""
        with self._lock:
            serving = {one.version.sha for one in (self._current, self._next) if one is not None}
            needed = serving | {self._loading}
        self._brood.keep(lambda sha: sha in needed or self._tools.ledger.is_pinned(self.stem, sha))

    def _version(self, sha: str, path: str) -> Version:
        return Version(self.stem, sha, self._tools.snapshots.path(sha), path or str(Path(f"{self.stem}.py")))
