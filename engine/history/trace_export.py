"""Export of ended runs as OpenTelemetry traces, sent to a collector over OTLP/HTTP as JSON."""

import asyncio
import contextlib
import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import aiohttp
from sqlalchemy import Connection

from engine.formats.clock import to_ms
from engine.history.runs import find_run
from engine.history.trace import read_run_trace
from engine.storage.database import EngineDatabase
from engine.storage.registry import Registry

_LOG = logging.getLogger("engine")
_PATH = "/v1/traces"
_SERVICE = "loopwright-engine"
_MAX_WAITING = 10_000
_BATCH_SIZE = 100
_TIMEOUT_S = 10.0
_STOP_TIMEOUT_S = 2.0
_OK, _ERROR, _INTERNAL = 1, 2, 1


class TraceExport:
    """Sends one trace for each ended run, once: while the collector cannot be reached, traces are lost.

    Args:
        endpoint: the collector's address, with or without `/v1/traces`.
    """

    def __init__(self, database: EngineDatabase, endpoint: str) -> None:
        self._database = database
        self._url = endpoint.rstrip("/").removesuffix(_PATH) + _PATH
        self._ended: asyncio.Queue[tuple[str, Registry]] = asyncio.Queue(_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to send, in the running event loop."""
        self._task = asyncio.create_task(self._send_ended())

    async def stop(self) -> None:
        """Send what is waiting, for two seconds at most."""
        if self._task is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.join(), _STOP_TIMEOUT_S)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def add(self, run_ids: Sequence[str], registry: Registry) -> None:
        """Queue runs that have ended; drops them when too many are waiting already."""
        with contextlib.suppress(asyncio.QueueFull):
            for run_id in run_ids:
                self._ended.put_nowait((run_id, registry))

    async def _send_ended(self) -> None:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                ended = [await self._ended.get()]
                while len(ended) < _BATCH_SIZE and not self._ended.empty():
                    ended.append(self._ended.get_nowait())
                try:
                    await self._send(session, ended)
                except Exception as error:  # noqa: BLE001 — a failing export must not stop the engine
                    _LOG.warning("traces of %d runs were not exported to %s: %s", len(ended), self._url, error)
                for _ in ended:
                    self._ended.task_done()

    async def _send(self, session: aiohttp.ClientSession, ended: Sequence[tuple[str, Registry]]) -> None:
        def read(connection: Connection) -> list[dict[str, Any]]:
            return [span for run_id, registry in ended for span in spans_of(connection, run_id, registry)]

        spans = await asyncio.to_thread(self._database.read, read)
        service = {"attributes": [_attribute("service.name", _SERVICE)]}
        scope = {"scope": {"name": _SERVICE}, "spans": spans}
        body = json.dumps({"resourceSpans": [{"resource": service, "scopeSpans": [scope]}]})
        headers = {"content-type": "application/json"}
        async with session.post(self._url, data=body.encode(), headers=headers) as response:
            if response.status >= 400:
                raise ValueError(f"HTTP {response.status}")


def spans_of(connection: Connection, run_id: str, registry: Registry) -> list[dict[str, Any]]:
    """Return the spans of a run in OTLP's JSON form; none when the run has been deleted."""
    run = find_run(connection, run_id)
    if run is None:
        return []
    function = registry.by_id.get(run.function_id)
    root = read_run_trace(connection, run, with_output=False)
    root["name"] = run.function_id if function is None else function.slug
    attributes = {"inngest.run.id": run.id, "inngest.function.id": root["name"], "inngest.event.name": run.event_name}
    return list(_export_span(root, run_id, "", attributes))


def _export_span(span: dict[str, Any], run_id: str, parent_id: str, shared: dict[str, str]) -> Iterator[dict[str, Any]]:
    span_id = _hex(f"{run_id}/{parent_id}/{span['id']}", 16)
    began = span.get("startedAt") or span["queuedAt"]
    own_attributes = {**shared, "inngest.status": span["status"], "inngest.step.op": span.get("stepOp")}
    exported = {
        "traceId": _hex(run_id, 32),
        "spanId": span_id,
        "name": span["name"],
        "kind": _INTERNAL,
        "startTimeUnixNano": _nanoseconds(began),
        "endTimeUnixNano": _nanoseconds(span.get("endedAt") or began),
        "attributes": [_attribute(key, value) for key, value in own_attributes.items() if value],
        "status": {"code": _ERROR if span["status"] == "FAILED" else _OK},
    }
    yield exported if not parent_id else {**exported, "parentSpanId": parent_id}
    for child in span.get("children", []):
        yield from _export_span(child, run_id, span_id, shared)


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _nanoseconds(moment: str) -> str:
    return str(to_ms(datetime.fromisoformat(moment)) * 1_000_000)


def _hex(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
