"""Processes that a test starts again and again: forks of one that has loaded their modules."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from app.processes.process import module_of
from tests.support.environment import without_settings

COMMAND = (sys.executable, "-P", "-m", "app.cli")
"""`loopwright` as a program of its own."""
_PROGRAM = Path(__file__).with_name("template_process.py")
_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class EndedProcess:
    """A command that has ended."""

    status: int
    out: str
    err: str


class ForkedProcess:
    """A fork, with the part of `subprocess.Popen` that the tests need."""

    def __init__(self, template: ProcessTemplate, pid: int) -> None:
        self._template = template
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._template.ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Wait for it and return its exit status. Raises `subprocess.TimeoutExpired`."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ProcessTemplate:
    """A process that has loaded `modules`, the first of which has the `main` that its copies run and end with.

    Where that one has a `load`, it is called once, before the copies are made.
    """

    def __init__(self, modules: Sequence[str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_PROGRAM), str(theirs.fileno()), *modules],
                # What is loaded before a fork must start no thread.
                env={**without_settings(), "OPENBLAS_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self._socket = ours
        self._turn = threading.Lock()
        atexit.register(self.close)

    def start(
        self, arguments: Sequence[str], env: Mapping[str, str], output: int = 2, errors: Path | None = None
    ) -> ForkedProcess:
        """Run `main` with these arguments in a session of its own; its output goes to the file `output`.

        With `errors`, only what is no error goes there.
        """
        told = {"arguments": list(arguments), "env": dict(env), "errors": str(errors) if errors else None}
        return ForkedProcess(self, self.ask({"start": told}, output))

    def run(self, arguments: Sequence[str], env: Mapping[str, str], timeout: float = 120) -> EndedProcess:
        """Run `main` and wait for its end. Raises `subprocess.TimeoutExpired`."""
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            with out.open("wb") as output:
                copy = self.start(arguments, env, output.fileno(), err)
            try:
                status = copy.wait(timeout)
            finally:
                copy.kill()
            return EndedProcess(status, out.read_text(), err.read_text())

    def ask(self, question: Mapping[str, Any], *files: int) -> Any:
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(question).encode()], list(files))
            answer = self._socket.recv(_MOST_BYTES)
        assert answer, "the template ended"
        return json.loads(answer)

    def close(self) -> None:
        """End the template, and with it every copy that still runs."""
        self._socket.close()
        self._process.wait(10)


@cache
def template_of(*modules: str) -> ProcessTemplate:
    """Return the template that all tests of this process share."""
    return ProcessTemplate(modules)


def loaded_product() -> ProcessTemplate:
    """Return the template whose copies are `loopwright`, without the studio's libraries, which start threads."""
    processes = (module_of(name) for name in ("engine", "model", "sidecar", "web", "worker"))
    return template_of("tests.support.preloaded_product", *processes, "openai", "psycopg2")
