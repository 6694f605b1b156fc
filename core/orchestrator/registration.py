"""Keeps the apps of this process known to the engine."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol
from urllib.parse import quote

from core.errors import InvalidError, LoopwrightError, NotFoundError, RefusedError, UnavailableError
from core.events import WatchRequested
from core.orchestrator.engine import Engine

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0


class App(Protocol):
    """Something the engine calls: an SDK app of ours, or a skill."""

    @property
    def app_id(self) -> str: ...

    @property
    def pending(self) -> bool:
        """Whether it has something to tell, whatever the engine lists: at the start, and when its functions changed."""
        ...

    def register(self) -> None:
        """Tell the engine the functions; raises UnavailableError, or InvalidError or RefusedError with its reason."""
        ...


def lists(engine: Engine, app_id: str) -> bool:
    """Whether the engine knows functions of this app; raises UnavailableError."""
    try:
        # Some engines answer from a cache for some seconds; the query makes the address a new one.
        found = engine.get(f"/v1/apps/{quote(app_id, safe='')}/functions", {"fresh": time.monotonic_ns()})
    except NotFoundError:
        return False
    if isinstance(found, dict):
        found = found.get("data")
    return bool(found)


class Registration:
    """A thread that registers each app at the start and again when the engine no longer lists it.

    The engine is asked every `pause` seconds; one that does not answer is tried again sooner. Whenever something
    was registered, `watch/requested` is sent: rows that waited for a lost run are rung again.
    """

    def __init__(self, engine: Engine, apps: Callable[[], Sequence[App]], *, pause: float = 10.0) -> None:
        self._engine = engine
        self._apps = apps
        self._pause = pause
        self._problem = ""
        self._wake = threading.Event()
        self._stop = False
        self.settled = threading.Event()
        """Set once a pass has asked or told the engine about every app."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="registration", daemon=True).start()

    def soon(self) -> None:
        """Look now instead of at the end of the pause."""
        self._wake.set()

    def stop(self) -> None:
        self._stop = True
        self._wake.set()

    def _run(self) -> None:
        retry = _FIRST_PAUSE
        while not self._stop:
            if self._pass():
                retry, wait = _FIRST_PAUSE, self._pause
            else:
                wait, retry = retry, min(retry * 2, _LONGEST_PAUSE)
            self._wake.wait(wait)
            self._wake.clear()

    def _pass(self) -> bool:
        """One look at every app; False when it should be repeated soon."""
        registered, good = False, True
        try:
            for app in self._apps():
                if not app.pending and lists(self._engine, app.app_id):
                    continue
                try:
                    app.register()
                except (InvalidError, RefusedError) as error:
                    self._say(f"the engine refuses {app.app_id}: {error}")
                    good = False
                    continue
                registered = True
            if registered:
                self._engine.send(WatchRequested.name, WatchRequested().model_dump())
        except UnavailableError as error:
            self._say(f"{error}; trying again")
            return False
        except LoopwrightError as error:
            self._say(str(error))
            return False
        if good:
            self._recovered(registered)
            self.settled.set()
        return good

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            _log.warning("registration: %s", problem)
            self._problem = problem

    def _recovered(self, registered: bool) -> None:
        if self._problem or registered:
            _log.info("registration: every app is known to the engine at %s", self._engine.api_url)
        self._problem = ""
