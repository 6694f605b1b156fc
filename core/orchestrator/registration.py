"""Registration: keep the apps of this process registered with the engine."""

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
_FIRST_PAUSE, _MAX_PAUSE = 0.25, 5.0
_Outcome = Literal["listed", "registered", "troubled", "unanswered"]


class App(Protocol):
    """An app that the engine calls: an SDK app of ours, or a skill."""

    @property
    def app_id(self) -> str: ...

    @property
    def pending(self) -> bool:
        """Whether it must be registered even if the engine lists it: at the start, and when its functions changed."""
        ...

    def register(self) -> None:
        """Register the functions; raises UnavailableError, or InvalidError or RefusedError with the engine's reason."""
        ...


def engine_lists_app(engine: Engine, app_id: str) -> bool:
    """Whether the engine lists functions of this app; raises UnavailableError."""
    try:
        # Some engines answer from a cache for some seconds; the query avoids it by making the address unique.
        found = engine.get(f"/v1/apps/{quote(app_id, safe='')}/functions", {"fresh": time.monotonic_ns()})
    except NotFoundError:
        return False
    if isinstance(found, dict):
        found = found.get("data")
    return bool(found)


class Registration:
    """A thread that registers each app at the start, and again when the engine no longer lists it.

    It checks every `pause` seconds, sooner while the engine does not answer. When something was registered, it sends
    `watch/requested`, so that the watch rings again for rows whose run the engine has lost.
    """

    def __init__(self, engine: Engine, apps: Callable[[], Sequence[App]], *, pause: float = 10.0) -> None:
        self._engine = engine
        self._apps = apps
        self._pause = pause
        # The last problem of each app, which is logged once.
        self._problems: dict[str, str] = {}
        self._troubled = False
        # Something was registered since the watch was requested last.
        self._watch_due = False
        self._wake = threading.Event()
        self._stop = False
        self.settled = threading.Event()
        """Set once a pass has found or registered every app."""

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="registration", daemon=True).start()

    def soon(self) -> None:
        """Check now instead of at the end of the pause."""
        self._wake.set()

    def stop(self) -> None:
        """Make the thread end."""
        self._stop = True
        self._wake.set()

    def _run(self) -> None:
        retry = _FIRST_PAUSE
        while not self._stop:
            if self._check_apps():
                retry, wait = _FIRST_PAUSE, self._pause
            else:
                wait, retry = retry, min(retry * 2, _MAX_PAUSE)
            self._wake.wait(wait)
            self._wake.clear()

    def _check_apps(self) -> bool:
        """Check every app; False when that should be repeated soon."""
        apps: list[App] = []
        good = self._try(lambda: apps.extend(self._apps()), "the list of apps")
        registered = False
        for app in apps:
            if self._stop:
                return False
            match self._check_app(app):
                case "listed":
                    pass
                case "registered":
                    registered = self._watch_due = True
                case "troubled":
                    good = False
                case "unanswered":
                    # The other apps would wait as long for no answer.
                    good = False
                    break
        if self._watch_due and not self._try(self._announce, "engine"):
            return False
        self._watch_due = False
        if good:
            self._report_recovery(registered)
            self.settled.set()
        return good

    def _check_app(self, app: App) -> _Outcome:
        """Register the app if needed; `unanswered` means that the engine did not say whether it lists the app."""
        outcome: _Outcome = "troubled"

        def listed() -> bool:
            nonlocal outcome
            try:
                return engine_lists_app(self._engine, app.app_id)
            except UnavailableError:
                outcome = "unanswered"
                raise

        def check() -> None:
            nonlocal outcome
            if not app.pending and listed():
                outcome = "listed"
                return
            app.register()
            outcome = "registered"

        self._try(check, app.app_id)
        return outcome

    def _announce(self) -> None:
        self._engine.send(WatchRequested.name, WatchRequested().model_dump())

    def _try(self, work: Callable[[], None], name: str) -> bool:
        """Do the work and return whether it succeeded; a failure is logged and does not stop the thread."""
        try:
            work()
        except (InvalidError, RefusedError) as error:
            self._report(name, f"the engine refuses {name}: {error}")
        except UnavailableError as error:
            self._report(name, f"{error}; trying again")
        except LoopwrightError as error:
            self._report(name, str(error))
        except Exception as error:  # noqa: BLE001 - the boundary between apps, such as a database that cannot be reached
            self._report(name, f"{name}: {type(error).__name__}: {error}", trace=True)
        else:
            self._problems.pop(name, None)
            return True
        return False

    def _report(self, name: str, problem: str, *, trace: bool = False) -> None:
        if problem != self._problems.get(name) and problem not in self._problems.values():
            _log.warning("registration: %s", problem, exc_info=trace)
        self._problems[name] = problem
        self._troubled = True

    def _report_recovery(self, registered: bool) -> None:
        if self._troubled or registered:
            _log.info("registration: every app is known to the engine at %s", self._engine.api_url)
        self._troubled = False
        self._problems = {}


class SdkApp:
    """An app of the SDK at `url`, which is asked to register its functions with the engine."""

    def __init__(self, app_id: str, url: str, engine: Engine, clock: Clock) -> None:
        self._app_id = app_id
        self._url = url.rstrip("/") + SERVE_PATH
        self._engine = engine
        self._clock = clock
        self._registered = False
        # During this call the SDK makes a call to the engine.
        self._client = http_client_for(self._url, engine.timeout_seconds + 5)

    @property
    def app_id(self) -> str:
        return self._app_id

    @property
    def pending(self) -> bool:
        return not self._registered

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
            self._registered = True
            return
        reason = (answer.get("error") or answer.get("message")) if isinstance(answer, dict) else None
        problem = f"{self._app_id} is not registered: {reason or response.status_code}"
        if response.status_code >= 500 or (isinstance(answer, dict) and answer.get("status", 0) in {401, 403, 503}):
            raise UnavailableError(problem)
        raise InvalidError(problem)
