"""Remote clock: the engine's test clock, by which tests move all processes together."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from core.clock import Clock, SystemClock
from core.errors import UnavailableError
from core.http_client import http_client_for
from core.orchestrator.engine import bearer_of_key
from core.settings import Settings


class RemoteClock:
    """Reads the time from the engine's `/test/clock` at `url`.

    While the engine is down, the time is that of the last answer; before the first answer, UnavailableError is raised.
    """

    def __init__(self, url: str, signing_key: str = "") -> None:
        self._url = url
        self._headers = {"authorization": bearer_of_key(signing_key)} if signing_key else {}
        self._http = http_client_for(url, 10)
        self._last: datetime | None = None

    def now(self) -> datetime:
        try:
            now = self._http.get(self._url, headers=self._headers).raise_for_status().json()["now"]
            self._last = datetime.fromisoformat(now).astimezone(UTC)
        except (httpx.HTTPError, ValueError, KeyError) as error:
            if self._last is None:
                raise UnavailableError(f"the test clock at {self._url} does not answer ({error})") from None
        return self._last


def clock_from_settings(settings: Settings) -> Clock:
    """Return the clock of the machine, or that of the engine if `LOOPWRIGHT_CLOCK_URL` is set."""
    if not settings.clock_url:
        return SystemClock()
    return RemoteClock(settings.clock_url, settings.inngest_signing_key.get_secret_value())
