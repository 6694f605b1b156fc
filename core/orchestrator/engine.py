"""The attached engine: its addresses and keys, and requests to it whose failures are our errors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

import httpx

from core.errors import InvalidError, NotFoundError, RefusedError, UnavailableError
from core.http_client import http_client_for
from core.settings import Settings

_PREFIX = re.compile(r"^signkey-\w+-")
_FALSE = {"", "0", "false", "no", "off"}
_DEV_URL = "http://127.0.0.1:8288"
_CLOUD_API, _CLOUD_EVENTS = "https://api.inngest.com", "https://inn.gs"
_NO_EVENT_KEY = "NO_EVENT_KEY_SET"


def bare_key(signing_key: str) -> str:
    """Remove the `signkey-<env>-` prefix of a key."""
    return _PREFIX.sub("", signing_key)


def bearer_of_key(signing_key: str) -> str:
    """Make the `Authorization` header that proves a signing key; raises ValueError when the key is not hex.

    Only the secret part is hashed. The prefix stays in front of it, from which Inngest's cloud knows the environment.
    """
    bare = bare_key(signing_key)
    prefix = signing_key.removesuffix(bare)
    return f"Bearer {prefix}{hashlib.sha256(bytes.fromhex(bare)).hexdigest()}"


@dataclass(frozen=True)
class Engine:
    """An engine. `signing_keys` has the key and the fallback, if set; it is empty for an engine without keys.

    `environment` is a branch environment of Inngest's cloud; empty means the environment of the key.
    """

    api_url: str
    events_url: str
    signing_keys: tuple[str, ...] = field(default=(), repr=False)
    event_key: str = field(default=_NO_EVENT_KEY, repr=False)
    environment: str = ""
    timeout_seconds: float = 10.0

    @classmethod
    def at(cls, url: str, signing_key: str | None = None, event_key: str | None = None) -> Engine:
        """Make an engine with the same address for API and events."""
        address = url.rstrip("/")
        return cls(address, address, (signing_key,) if signing_key else (), event_key or _NO_EVENT_KEY)

    @classmethod
    def of(cls, settings: Settings) -> Engine:
        """Make the engine that Inngest's own variables name."""
        dev = settings.inngest_dev.strip()
        is_dev = dev.lower() not in _FALSE
        keys = (settings.inngest_signing_key, settings.inngest_signing_key_fallback)
        signing_keys = () if is_dev else tuple(key.get_secret_value() for key in keys if key.get_secret_value())
        event_key = settings.inngest_event_key.get_secret_value() or _NO_EVENT_KEY
        url = (settings.inngest_base_url or (dev if "://" in dev else _DEV_URL if is_dev else "")).rstrip("/")
        return cls(url or _CLOUD_API, url or _CLOUD_EVENTS, signing_keys, event_key, settings.inngest_env)

    @cached_property
    def _client(self) -> httpx.Client:
        return http_client_for(self.api_url, self.timeout_seconds)

    @property
    def keyed(self) -> bool:
        """Whether calls are signed."""
        return bool(self.signing_keys)

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """Get JSON from the API; raises NotFoundError, InvalidError, RefusedError or UnavailableError."""
        return self._call("GET", path, params=params)

    def post(self, path: str, body: object) -> Any:
        """Post JSON to the API and return its answer; raises as `get` does."""
        return self._call("POST", path, body=body)

    def send(self, name: str, data: Mapping[str, Any]) -> None:
        """Send one event; raises as `get` does."""
        self.send_all([{"name": name, "data": data}])

    def send_all(self, events: Sequence[Mapping[str, Any]]) -> list[str]:
        """Send events, all or none, and return their ids; raises as `get` does."""
        url = f"{self.events_url}/e/{quote(self.event_key, safe='')}"
        answer = self._read_answer(self._send_once("POST", url, None, list(events), None))
        return [str(one) for one in answer.get("ids") or ()] if isinstance(answer, dict) else []

    def _call(self, method: str, path: str, *, params: Mapping[str, Any] | None = None, body: object = None) -> Any:
        """Call the API with the first key that the engine accepts, or without a key."""
        response = None
        for key in self.signing_keys or (None,):
            response = self._send_once(method, self.api_url + path, params, body, key)
            if response.status_code not in {401, 403}:
                break
        assert response is not None
        return self._read_answer(response)

    def _send_once(
        self, method: str, url: str, params: Mapping[str, Any] | None, body: object, key: str | None
    ) -> httpx.Response:
        headers = {"authorization": bearer_of_key(key)} if key else {}
        if self.environment:
            headers["x-inngest-env"] = self.environment
        content: dict[str, Any] = {} if body is None else {"json": body}
        try:
            return self._client.request(method, url, params=params, headers=headers, **content)
        except httpx.HTTPError as error:
            # The message names no path, since that of an event ends with the event key.
            raise UnavailableError(f"the engine at {self.api_url} does not answer ({type(error).__name__})") from None

    def _read_answer(self, response: httpx.Response) -> Any:
        """Return the JSON of an answer, or raise the error that its status means."""
        status = response.status_code
        if status < 400:
            return _json(response)
        reason = _stated_error(response)
        match status:
            case 404 | 410:
                raise NotFoundError(f"the engine knows nothing there: {reason}")
            case 401 | 403:
                raise RefusedError(
                    f"the engine at {self.api_url} refuses our key ({reason}); "
                    "compare INNGEST_SIGNING_KEY on both sides"
                )
            case _ if status < 500 and status != 429:
                raise InvalidError(reason)
            case _:
                raise UnavailableError(f"the engine at {self.api_url} answered {status}: {reason}")


def _json(response: httpx.Response) -> Any:
    if not response.content.strip():
        return None
    try:
        return response.json()
    except ValueError:
        raise UnavailableError(f"{response.request.method} {response.request.url.path} gave no JSON") from None


def _stated_error(response: httpx.Response) -> str:
    try:
        body = response.json()
    except ValueError:
        return response.text[:200].strip() or f"status {response.status_code}"
    if isinstance(body, dict):
        errors = body.get("errors")
        if isinstance(errors, list) and errors and isinstance(errors[0], dict):
            return str(errors[0].get("message") or errors[0])
        return str(body.get("error") or body.get("message") or body)
    return str(body)
