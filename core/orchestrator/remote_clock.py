"""The engine's clock, which tests use to move all processes together."""

from __future__ import annotations

from datetime import UTC, datetime

import httpx

from core.clock import Clock, SystemClock
from core.errors import UnavailableError
from core.http_client import http_client_for
from core.orchestrator.engine import bearer_of_key
from core.settings import Settings


class RemoteClock:
    """Asks the engine at each look; `url` is its `/test/clock`.

    While the engine is down its clock stands where it was last seen. Raises UnavailableError before it was ever seen.
    """

    def __init__(self, url: str, signing_key: str = "") -> None:
        self._url = url
        self._headers = {"authorization": bearer_of_key(signing_key)} if signing_key else {}
        self._http = http_client_for(url, 10)
        self._seen: datetime | None = None

    def now(self) -> datetime:
        try:
            told = self._http.get(self._url, headers=self._headers).raise_for_status().json()["now"]
            self._seen = datetime.fromisoformat(told).astimezone(UTC)
        except (httpx.HTTPError, ValueError, KeyError) as error:
            if self._seen is None:
                raise UnavailableError(f"the test clock at {self._url} does not answer ({error})") from None
        return self._seen


def clock_from_settings(settings: Settings) -> Clock:
    """The machine's clock, or the engine's where `LOOPWRIGHT_CLOCK_URL` names one."""
    if not settings.clock_url:
        return SystemClock()
    return RemoteClock(settings.clock_url, settings.inngest_signing_key.get_secret_value())
