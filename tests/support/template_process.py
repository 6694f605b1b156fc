"""The program of a template: on requests over a socket it forks copies of itself and reports how they ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from app.supervision.fork import ProcessFork, can_fork

_MOST_BYTES = 1_000_000


def main() -> None:
    handle, *modules = sys.argv[1:]
    for module in modules:
        import_module(module)
    load: Callable[[], None] | None = getattr(import_module(modules[0]), "load", None)
    if load is not None:
        load()
    assert can_fork(), "what a template loads must start no thread"
    with socket.socket(fileno=int(handle)) as tests:
        _serve(tests, modules[0])


def _serve(tests: socket.socket, module: str) -> None:
    """Serve until the tests have ended in whatever way, and end what still runs."""
    copies: dict[int, ProcessFork] = {}
    while True:
        told, files, _, _ = socket.recv_fds(tests, _MOST_BYTES, 1)
        if not told:
            for copy in copies.values():
                if copy.poll() is None:
                    os.killpg(copy.pid, signal.SIGKILL)
            return
        question = json.loads(told)
        if "start" in question:
            copy = _copy(module, question["start"], files[0])
            copies[copy.pid] = copy
            answer: int | None = copy.pid
        else:
            answer = copies[question["poll"]].poll()
        tests.send(json.dumps(answer).encode())


def _copy(module: str, told: dict[str, Any], output: int) -> ProcessFork:
    try:
        return ProcessFork(partial(_run, module, told["arguments"], told["errors"]), told["env"], 0, output, os.setsid)
    finally:
        os.close(output)


def _run(module: str, arguments: list[str], errors: str | None) -> None:
    if errors is not None:
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT, 0o600), 2)
    sys.argv = [module, *arguments]
    sys.exit(import_module(module).main())


if __name__ == "__main__":
    main()
