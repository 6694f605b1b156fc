"""Run gunicorn inside our own command, without a configuration file or a command line for it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from app.processes.process import ProcessOptions, die_with_parent, load_prctl

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


class GunicornServer(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    """Runs what `build` makes. It is called after the fork: no client or engine crosses one."""

    def __init__(
        self, ask: ProcessOptions, threads: int, build: Callable[[], WSGIApplication], stopping: Callable[[], None]
    ) -> None:
        self._ask = ask
        self._threads = threads
        self._build = build
        self._stopping = stopping
        super().__init__()

    def load_config(self) -> None:
        prctl = load_prctl()

        def post_fork(arbiter: Any, worker: Any) -> None:
            # Else it would hold the port for a second after its arbiter was killed.
            die_with_parent(arbiter.pid, prctl)

        settings: dict[str, object] = {
            "bind": f"{self._ask.host}:{self._ask.port}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": self._threads,
            # Steps and streams are long: time says nothing about whether a worker hangs.
            "timeout": 0,
            # Under a supervisor a stop is quick, and a step that is cut off runs again.
            "graceful_timeout": 1 if self._ask.supervised else 30,
            # Several servers of one person would meet at its default path.
            "control_socket_disable": True,
            "loglevel": "warning",
            "post_fork": post_fork,
            "post_worker_init": lambda worker: _call_before_termination(self._stopping),
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self) -> WSGIApplication:
        return self._build()


def run_wsgi(
    ask: ProcessOptions, threads: int, build: Callable[[], WSGIApplication], stopping: Callable[[], None] = lambda: None
) -> None:
    """Serve until told to stop; ends the process. A long step or an open stream holds one of the threads.

    `stopping` is called in the worker when it is told to stop, before it waits for open requests.
    """
    # Variables meant for somebody else's gunicorn do not reach ours.
    os.environ.pop("GUNICORN_CMD_ARGS", None)
    mine = os.getpid()
    try:
        GunicornServer(ask, threads, build, stopping).run()
    except SystemExit as ended:
        if os.getpid() != mine:
            # A worker: by its status gunicorn knows that it could not begin, and starts no other.
            raise
        # It has statuses of its own; ours are those of every command.
        raise SystemExit(1 if ended.code else 0) from None


def _call_before_termination(stopping: Callable[[], None]) -> None:
    gunicorns = signal.getsignal(signal.SIGTERM)

    def handle(number: int, frame: FrameType | None) -> None:
        stopping()
        if callable(gunicorns):
            gunicorns(number, frame)

    signal.signal(signal.SIGTERM, handle)
