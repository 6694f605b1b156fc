"""Keep the apps of this process registered with the engine."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol
from urllib.parse import quote

import httpx

from core.clock import Clock
from core.errors import InvalidError, LoopwrightError, NotFoundError, RefusedError, UnavailableError
from core.events import WatchRequested
from core.http_client import http_client_for
from core.orchestrator.engine import Engine
from core.orchestrator.middleware import SERVE_PATH
from core.orchestrator.signature import SIGNATURE_HEADER, sign_body

_log = logging.getLogger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
_Found = Literal["listed", "registered", "troubled", "unanswered"]


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


def engine_lists_app(engine: Engine, app_id: str) -> bool:
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
        # The last trouble of each app, which is said once.
        self._problems: dict[str, str] = {}
        self._troubled = False
        # Something was registered, and the watch has not been asked since.
        self._news = False
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
        apps: list[App] = []
        good = self._guarded(lambda: apps.extend(self._apps()), "the list of apps")
        registered = False
        for app in apps:
            if self._stop:
                return False
            match self._look(app):
                case "listed":
                    pass
                case "registered":
                    registered = self._news = True
                case "troubled":
                    good = False
                case "unanswered":
                    # It would answer for no other app either, and each would wait as long.
                    good = False
                    break
        if self._news and not self._guarded(self._announce, "engine"):
            return False
        self._news = False
        if good:
            self._recovered(registered)
            self.settled.set()
        return good

    def _look(self, app: App) -> _Found:
        """What became of the app; `unanswered` where the engine does not say whether it lists it."""
        found: _Found = "troubled"

        def listed() -> bool:
            nonlocal found
            try:
                return engine_lists_app(self._engine, app.app_id)
            except UnavailableError:
                found = "unanswered"
                raise

        def look() -> None:
            nonlocal found
            if not app.pending and listed():
                found = "listed"
                return
            app.register()
            found = "registered"

        self._guarded(look, app.app_id)
        return found

    def _announce(self) -> None:
        self._engine.send(WatchRequested.name, WatchRequested().model_dump())

    def _guarded(self, work: Callable[[], None], name: str) -> bool:
        """Whether it was done: one app's trouble is neither the others' nor the end of this thread."""
        try:
            work()
        except (InvalidError, RefusedError) as error:
            self._say(name, f"the engine refuses {name}: {error}")
        except UnavailableError as error:
            self._say(name, f"{error}; trying again")
        except LoopwrightError as error:
            self._say(name, str(error))
        except Exception as error:  # noqa: BLE001 - the boundary between apps: a database may be away for a while
            self._say(name, f"{name}: {type(error).__name__}: {error}", trace=True)
        else:
            self._problems.pop(name, None)
            return True
        return False

    def _say(self, name: str, problem: str, *, trace: bool = False) -> None:
        if problem != self._problems.get(name) and problem not in self._problems.values():
            _log.warning("registration: %s", problem, exc_info=trace)
        self._problems[name] = problem
        self._troubled = True

    def _recovered(self, registered: bool) -> None:
        if self._troubled or registered:
            _log.info("registration: every app is known to the engine at %s", self._engine.api_url)
        self._troubled = False
        self._problems = {}


class SdkApp:
    """`register` asks the SDK at `url` to tell the engine its functions."""

    def __init__(self, app_id: str, url: str, engine: Engine, clock: Clock) -> None:
        self._app_id = app_id
        self._url = url.rstrip("/") + SERVE_PATH
        self._engine = engine
        self._clock = clock
        self._told = False
        # Behind this call the SDK makes one of its own to the engine.
        self._client = http_client_for(self._url, engine.timeout_seconds + 5)

    @property
    def app_id(self) -> str:
        return self._app_id

    @property
    def pending(self) -> bool:
        return not self._told

    def register(self) -> None:
        keys = self._engine.signing_keys
        headers = {SIGNATURE_HEADER: sign_body(keys[0], b"", self._clock.now())} if keys else {}
        try:
            response = self._client.put(self._url, headers=headers)
            answer = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise UnavailableError(f"our own address {self._url} does not answer ({type(error).__name__})") from None
        # The status is 200 even when the engine refused.
        if isinstance(answer, dict) and answer.get("ok") is True:
            self._told = True
            return
        said = (answer.get("error") or answer.get("message")) if isinstance(answer, dict) else None
        problem = f"{self._app_id} is not registered: {said or response.status_code}"
        if response.status_code >= 500 or (isinstance(answer, dict) and answer.get("status", 0) in {401, 403, 503}):
            raise UnavailableError(problem)
        raise InvalidError(problem)
