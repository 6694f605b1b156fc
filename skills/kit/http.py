"""HTTP requests to other machines, made by the broker.

    answer = http.get("http://metrics.example:9090/api/v1/query", params={"query": "up"}).raise_for_status()
    for row in answer.json()["data"]["result"]: ...

The manifest names each host with its port, as in `metrics.example:9090`; without a port it means 80 for http and 443
for https. A redirect is followed on the same host only. An answer may have 8 MiB, a request 1 MiB; `timeout` covers the
whole call and is at most 120 seconds. Loopwright's own processes cannot be reached, and no proxy is used. A host that
gets one of the skill's secrets must not be asked for a `Range`, because a part of a secret could not be masked.

`post`, `put`, `patch` and `delete` carry an `Idempotency-Key` header made from the run and the request, so that a
service that knows such keys does nothing twice when a step is repeated. Pass your own in `headers` to replace it.
"""

from __future__ import annotations

import base64
import json as _json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skills.kit.door import door
from skills.kit.errors import Refused, Unavailable
from skills.kit.secret import Secret

Params = Mapping[str, str | int | float | bool | Sequence[str]]
Headers = Mapping[str, str | Secret]


@dataclass(frozen=True)
class Answer:
    """A server's answer, whatever its status. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is below 400."""
        return self.status < 400

    @property
    def text(self) -> str:
        """The content as UTF-8."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the content as JSON; raises Unavailable if it is not JSON."""
        try:
            return _json.loads(self.content)
        except (ValueError, RecursionError):
            raise Unavailable(f"the server answered {self.status} with something that is not JSON") from None

    def raise_for_status(self) -> Answer:
        """Return the answer if its status is below 400. Raises Unavailable for 408, 425, 429 and 5xx, else Refused."""
        if self.ok:
            return self
        said = f"the server answered {self.status}: {self.text[:200]}"
        raise Unavailable(said) if self.status >= 500 or self.status in (408, 425, 429) else Refused(said)


def get(url: str, *, params: Params | None = None, headers: Headers | None = None, timeout: float = 30) -> Answer:
    """GET a URL; raises Unavailable if the server cannot be reached in time, Refused if the skill may not reach it."""
    return _request("GET", url, params, headers, None, None, timeout)


def post(
    url: str,
    *,
    params: Params | None = None,
    headers: Headers | None = None,
    json: Any = None,
    data: bytes | str | None = None,
    timeout: float = 30,
) -> Answer:
    """POST `json`, or `data` as it is; raises as `get` does."""
    return _request("POST", url, params, headers, json, data, timeout)


def put(
    url: str,
    *,
    params: Params | None = None,
    headers: Headers | None = None,
    json: Any = None,
    data: bytes | str | None = None,
    timeout: float = 30,
) -> Answer:
    """PUT `json`, or `data` as it is; raises as `get` does."""
    return _request("PUT", url, params, headers, json, data, timeout)


def patch(
    url: str,
    *,
    params: Params | None = None,
    headers: Headers | None = None,
    json: Any = None,
    data: bytes | str | None = None,
    timeout: float = 30,
) -> Answer:
    """PATCH with `json`, or with `data` as it is; raises as `get` does."""
    return _request("PATCH", url, params, headers, json, data, timeout)


def delete(url: str, *, params: Params | None = None, headers: Headers | None = None, timeout: float = 30) -> Answer:
    """DELETE; raises as `get` does."""
    return _request("DELETE", url, params, headers, None, None, timeout)


def _request(
    method: str,
    url: str,
    params: Params | None,
    headers: Headers | None,
    json: Any,
    data: bytes | str | None,
    timeout: float,
) -> Answer:
    sent = {name.lower(): str(value) for name, value in (headers or {}).items()}
    content = data.encode() if isinstance(data, str) else data
    if json is not None:
        content = _json.dumps(json, allow_nan=False).encode()
        sent.setdefault("content-type", "application/json")
    body = {
        "method": method,
        "url": url,
        "params": {name: _texts(value) for name, value in (params or {}).items()},
        "headers": sent,
        "content": None if content is None else base64.b64encode(content).decode(),
        "timeout": timeout,
    }
    said = door.ask(f"http.{method.lower()}", "/http", body)
    return Answer(said["status"], said["headers"], base64.b64decode(said["content"]))


def _texts(value: str | int | float | bool | Sequence[str]) -> list[str]:
    match value:
        case bool():
            return ["true" if value else "false"]
        case str() | int() | float():
            return [str(value)]
        case _:
            return [str(one) for one in value]
