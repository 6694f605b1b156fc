"""An app that the SDK serves, made known by a call to its own address."""

from __future__ import annotations

import httpx

from core.clock import Clock
from core.errors import InvalidError, UnavailableError
from core.orchestrator.door import SERVE_PATH
from core.orchestrator.engine import Engine
from core.orchestrator.http import client_for
from core.orchestrator.signature import HEADER, sign


class SdkApp:
    """`register` asks the SDK at `url` to tell the engine its functions."""

    def __init__(self, app_id: str, url: str, engine: Engine, clock: Clock) -> None:
        self._app_id = app_id
        self._url = url.rstrip("/") + SERVE_PATH
        self._engine = engine
        self._clock = clock
        self._told = False
        # Behind this call the SDK makes one of its own to the engine.
        self._client = client_for(self._url, engine.timeout_seconds + 5)

    @property
    def app_id(self) -> str:
        return self._app_id

    @property
    def pending(self) -> bool:
        return not self._told

    def register(self) -> None:
        keys = self._engine.signing_keys
        headers = {HEADER: sign(keys[0], b"", self._clock.now())} if keys else {}
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
