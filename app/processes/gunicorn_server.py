"""Run gunicorn inside our own command, without its configuration file or command line."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication

from app.processes.process import ProcessOptions
from core.process.parent_death import die_with_parent, load_prctl

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


class GunicornServer(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    """Serves the application that `build` makes after the fork, so that no client or connection crosses the fork."""

    def __init__(
        self, options: ProcessOptions, threads: int, build: Callable[[], WSGIApplication], stopping: Callable[[], None]
    ) -> None:
        self._options = options
        self._threads = threads
        self._build = build
        self._stopping = stopping
        super().__init__()

    def load_config(self) -> None:
        prctl = load_prctl()

        def post_fork(arbiter: Any, worker: Any) -> None:
            # Otherwise it would hold the port for a second after its arbiter was killed.
            die_with_parent(arbiter.pid, prctl)

        settings: dict[str, object] = {
            "bind": f"{self._options.host}:{self._options.port}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": self._threads,
            # Steps and streams take long, so a timeout could not tell a hanging worker.
            "timeout": 0,
            # Under a supervisor a stop is quick; an interrupted step runs again.
            "graceful_timeout": 1 if self._options.supervised else 30,
            # Several servers of one user would share its default path.
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
    options: ProcessOptions,
    threads: int,
    build: Callable[[], WSGIApplication],
    stopping: Callable[[], None] = lambda: None,
) -> None:
    """Serve until a signal stops it, then exit. A long step or an open stream occupies one of the threads.

    `stopping` is called in the worker after that signal, before it waits for open requests.
    """
    # This variable is meant for other gunicorn servers.
    os.environ.pop("GUNICORN_CMD_ARGS", None)
    arbiter_pid = os.getpid()
    try:
        GunicornServer(options, threads, build, stopping).run()
    except SystemExit as ended:
        if os.getpid() != arbiter_pid:
            # In a worker: its exit status lets gunicorn know that it could not start, so it starts no other.
            raise
        # Map gunicorn's statuses to those of our commands.
        raise SystemExit(1 if ended.code else 0) from None


def _call_before_termination(stopping: Callable[[], None]) -> None:
    gunicorn_handler = signal.getsignal(signal.SIGTERM)

    def handle(number: int, frame: FrameType | None) -> None:
        stopping()
        if callable(gunicorn_handler):
            gunicorn_handler(number, frame)

    signal.signal(signal.SIGTERM, handle)
