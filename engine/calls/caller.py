"""The caller: makes the HTTP request of a claimed item."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from engine.calls.gateway import call_gateway
from engine.calls.outcome import CallOutcome, FunctionFailed
from engine.calls.request import RequestIds, build_body
from engine.calls.response import read_answer
from engine.calls.transport import TolerantConnector, read_limited
from engine.formats.clock import MillisecondClock
from engine.formats.ids import ulid
from engine.formats.json_text import canonicalise
from engine.formats.signing import sign_body, verify_signature
from engine.function import Function
from engine.settings import EngineSettings
from engine.storage.transaction import AppCall

USER_AGENT = "Inngest"
# Shorter than servers keep an idle connection (gunicorn: two seconds), so that the app is not the one to close it.
_KEEP_ALIVE_S = 1.0
# A reused connection that fails within this time had been closed by the app before it read the request.
_STALE_S = 0.25
# Larger bodies are canonicalised in a thread, so that the event loop does not wait.
_LARGE = 65_536


@dataclass(frozen=True)
class CallKeys:
    """The keys that sign calls and check answers; empty in an engine without keys."""

    signing: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "cloud" if self.signing else "dev"


@dataclass
class _ConnectionUse:
    """Whether a request used the connection of an earlier one."""

    reused: bool = False


class Caller:
    """Makes calls to apps, at most `calls_per_app` to one app at the same time."""

    def __init__(self, clock: MillisecondClock, settings: EngineSettings, keys: CallKeys) -> None:
        self._clock = clock
        self._settings = settings
        self._keys = keys
        self._session: aiohttp.ClientSession | None = None
        self._semaphores: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(settings.calls_per_app)
        )
        self._generation = itertools.count(1)

    async def start(self) -> None:
        """Open the HTTP session."""
        connector = TolerantConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S, ttl_dns_cache=60)
        timeout = aiohttp.ClientTimeout(total=self._settings.call_timeout_s, sock_connect=10)
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(_note_reuse)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, trace_configs=[tracing])

    async def stop(self) -> None:
        """Close the HTTP session."""
        if self._session is not None:
            await self._session.close()

    async def make_call(self, call: AppCall, function: Function) -> CallOutcome:
        """Make one call and return its outcome; errors of the app or the network are outcomes too, never exceptions."""
        assert self._session is not None
        async with self._semaphores[function.app]:
            started_at = self._clock.now_ms()
            if call.kind == "gateway":
                return await call_gateway(self._session, call, started_at)
            return await self._request(self._session, call, function, started_at)

    async def _request(
        self, session: aiohttp.ClientSession, call: AppCall, function: Function, started_at: int
    ) -> CallOutcome:
        ids = RequestIds(ulid(started_at), next(self._generation))
        body = build_body(call, ids, self._settings.max_inline)
        headers = await self._headers(call, ids, body, started_at)
        url = function.call_url(call.step_id)
        try:
            response, answer = await self._post(session, url, body, headers)
        except TimeoutError:
            return _unreachable(url, f"no answer within {self._settings.call_timeout_s:g} s", started_at)
        except (aiohttp.ClientError, OSError) as error:
            return _unreachable(url, str(error) or type(error).__name__, started_at)
        if answer is None:
            return _failed("the app's answer is larger than 64 MiB", started_at)
        lower = {key.lower(): value for key, value in response.headers.items()}
        if (problem := self._find_signature_problem(lower, answer, response.status)) is not None:
            return _failed(problem, started_at)
        return read_answer(response.status, lower, answer, started_at=started_at, now=self._clock.now_ms())

    async def _post(
        self, session: aiohttp.ClientSession, url: str, body: str, headers: Mapping[str, str]
    ) -> tuple[aiohttp.ClientResponse, bytes | None]:
        """Return the response and its body; None for a body that is too large."""
        began = time.monotonic()
        use = _ConnectionUse()
        try:
            return await _exchange(session, url, body, headers, use)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # The app had already closed the reused connection, so it never saw the request.
            if not use.reused or time.monotonic() - began > _STALE_S:
                raise
        return await _exchange(session, url, body, headers, _ConnectionUse())

    async def _headers(self, call: AppCall, ids: RequestIds, body: str, now: int) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "user-agent": USER_AGENT,
            "x-inngest-generation-id": str(ids.generation_id),
            "x-inngest-job-id": call.item_id,
            "x-inngest-req-version": str(call.sdk_version),
            "x-inngest-server-kind": self._keys.kind,
            "x-inngest-step-id": "step",
            "x-request-id": ids.request_id,
            "x-run-id": call.run_id,
        }
        if self._keys.signing:
            canonical = canonicalise(body) if len(body) < _LARGE else await asyncio.to_thread(canonicalise, body)
            headers["x-inngest-signature"] = sign_body(self._keys.signing[0], canonical, now // 1000)
        return headers

    def _find_signature_problem(self, headers: Mapping[str, str], body: bytes, status: int) -> str | None:
        """Return why an engine with keys cannot trust this answer, or None."""
        if not self._keys.signing or "x-inngest-sdk" not in headers or status not in {200, 206}:
            return None
        signature = headers.get("x-inngest-signature", "")
        if not signature:
            return "the app's answer is not signed; give the app the signing key of this engine"
        if not verify_signature(self._keys.signing, body, signature):
            return "the app's answer has a wrong signature; its signing key must be that of this engine"
        return None


async def _exchange(
    session: aiohttp.ClientSession, url: str, body: str, headers: Mapping[str, str], use: _ConnectionUse
) -> tuple[aiohttp.ClientResponse, bytes | None]:
    request = session.post(url, data=body.encode(), headers=headers, allow_redirects=False, trace_request_ctx=use)
    async with request as response:
        return response, await read_limited(response)


async def _note_reuse(_session: aiohttp.ClientSession, context: Any, _params: object) -> None:
    if isinstance(context.trace_request_ctx, _ConnectionUse):
        context.trace_request_ctx.reused = True


def _unreachable(url: str, reason: str, started_at: int) -> CallOutcome:
    where = url.partition("?")[0]
    error: dict[str, Any] = {"name": "Error", "message": f"Unable to reach SDK URL {where}: {reason}", "stack": None}
    return CallOutcome(FunctionFailed(error), started_at)


def _failed(message: str, started_at: int) -> CallOutcome:
    return CallOutcome(FunctionFailed({"name": "Error", "message": message, "stack": None}), started_at)
