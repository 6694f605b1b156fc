"""Run one engine process, from its start to a clean exit."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import uuid

import uvloop
from aiohttp import web

from engine.api.state import ApiState
from engine.api.test_clock import MovableClock
from engine.calls.caller import Caller, CallKeys
from engine.dispatcher import Dispatcher
from engine.formats.clock import MachineClock, MillisecondClock
from engine.history.trace_export import TraceExport
from engine.server import make_app
from engine.settings import EngineConfig, EngineSettings
from engine.storage.database import DatabaseError, EngineDatabase

_CLOSE_GRACE_S = 1.0


class StartError(Exception):
    """The engine cannot start; the message is one line for the person who started it."""


def serve(config: EngineConfig) -> None:
    """Run an engine until SIGTERM or SIGINT.

    Prints `engine listening on http://HOST:PORT` once it accepts requests. When it cannot start, it prints the reason
    as one line on standard error and exits with status 1.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
    try:
        listener = _bind(config.host, config.port)
        database = EngineDatabase(config.database_url)
        database.create_tables()
    except (StartError, DatabaseError) as error:
        print(f"engine: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    # The threads hand work to each other at every step, so none should hold the interpreter for long.
    sys.setswitchinterval(0.001)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(config, listener, database))


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise StartError(f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0)}") from error
    return listener


async def _run(config: EngineConfig, listener: socket.socket, database: EngineDatabase) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    settings = EngineSettings(
        retry_interval_s=config.retry_interval,
        call_timeout_s=config.call_timeout.total_seconds(),
        calls_per_app=config.calls_per_app,
        lease_ms=round(config.lease.total_seconds() * 1000),
        retention_ms=round(config.retention.total_seconds() * 1000),
    )
    clock: MillisecondClock = MachineClock()
    test_clock = MovableClock(clock) if config.test_clock else None
    clock = test_clock or clock
    caller = Caller(clock, settings, CallKeys(config.signing_keys))
    traces = TraceExport(database, config.otlp_endpoint) if config.otlp_endpoint else None
    dispatcher = Dispatcher(database, clock, settings, caller, owner=uuid.uuid4().hex, traces=traces)
    runner = web.AppRunner(
        make_app(ApiState(dispatcher, config.signing_keys, config.event_keys), test_clock),
        access_log=None,
        keepalive_timeout=75,
        shutdown_timeout=_CLOSE_GRACE_S,
    )
    try:
        await dispatcher.start()
        await runner.setup()
        await web.SockSite(runner, listener).start()
        host, port = listener.getsockname()[:2]
        print(f"engine listening on http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
        await stopping.wait()
    finally:
        with contextlib.suppress(asyncio.CancelledError):
            await runner.cleanup()
            await dispatcher.stop()
        database.close()
