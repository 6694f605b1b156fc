"""Processes that serve skill versions: one is kept awake, so that a saved skill need not wait for imports."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from core.clock import Clock
from core.errors import UnavailableError
from core.orchestrator.signature import HEADER, canonical, sign
from sidecar.child.order import Answer, Order
from skills.problem import Problem, RefusedSkillError

_WAKE_SECONDS = 60.0
_LOAD_SECONDS = 5.0
# One step of a skill may last as long as an engine waits.
_CALL_TIMEOUT = httpx.Timeout(7200, connect=5)
# What a child sees of our environment: where Python and the system's files are, and no key.
_SHOWN = ("PATH", "LANG", "LC_ALL", "TZ", "HOME", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE")


@dataclass(frozen=True)
class Version:
    """The code to serve: its hash, the snapshot of its source, and the file it was saved as."""

    stem: str
    sha: str
    snapshot: Path
    path: str

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"


@dataclass(frozen=True)
class Reach:
    """How children reach the engine's event address."""

    engine_url: str
    events_url: str
    event_key: str


class Child:
    """One process. Calls to it are signed with a key that only this child knows."""

    def __init__(self, process: subprocess.Popen[bytes], address: str, listener: socket.socket, clock: Clock) -> None:
        self._process = process
        self._address = address
        self._listener = listener
        self._clock = clock
        self._key = secrets.token_hex(32)
        self._output = bytearray()
        self._http = httpx.Client(
            transport=httpx.HTTPTransport(uds=address, verify=False), timeout=_CALL_TIMEOUT, trust_env=False
        )
        self._calls = 0
        self._calls_lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def busy(self) -> bool:
        return self._calls > 0

    def awake(self) -> bool:
        """Wait until it can take an order; False when it never will."""
        try:
            return self._answer(_WAKE_SECONDS).state == "awake"
        except (EOFError, TimeoutError):
            return False

    def load(self, version: Version, reach: Reach) -> None:
        """Have it run and serve a version; raises RefusedSkillError."""
        order = Order(
            stem=version.stem,
            app_id=version.app_id,
            snapshot=str(version.snapshot),
            path=version.path,
            sha=version.sha,
            key=self._key,
            engine_url=reach.engine_url,
            events_url=reach.events_url,
            event_key=reach.event_key,
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(order.model_dump_json().encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer(_LOAD_SECONDS)
        except TimeoutError:
            reason = f"loading took more than {_LOAD_SECONDS:.0f} s"
            raise RefusedSkillError(Problem(None, reason, "let the file only define functions")) from None
        except (EOFError, OSError):
            fix = "loading the file must only define functions"
            raise RefusedSkillError(Problem(None, "the process ended while loading the file", fix)) from None
        if answer.problem is not None:
            raise RefusedSkillError(answer.problem)
        self._listener.close()

    def functions(self, url: str, stem: str) -> list[dict[str, Any]]:
        """The functions as the SDK would register them at `url`; raises RefusedSkillError."""
        body = json.dumps({"url": url}).encode()
        response = self.call("PUT", f"/api/inngest/{stem}", "", body, {"x-inngest-sync-kind": "in_band"})
        answer = response.json()
        if response.status_code != 200 or not isinstance(answer.get("functions"), list):
            said = str(answer.get("message") or answer)[:500]
            raise RefusedSkillError(Problem(None, said, "correct the arguments of create_function"))
        functions: list[dict[str, Any]] = answer["functions"]
        return functions

    def call(self, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Pass a call on, signed. Raises UnavailableError when the child ended before it answered."""
        signature = sign(self._key, canonical(body), self._clock.now())
        url = httpx.URL("http://skill", path=path, query=query.encode())
        with self._calls_lock:
            self._calls += 1
        try:
            return self._http.request(method, url, content=body, headers={**headers, HEADER: signature})
        except httpx.HTTPError as error:
            raise UnavailableError(f"the process of the skill ended before it answered ({error})") from None
        finally:
            with self._calls_lock:
                self._calls -= 1

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._listener.close()
        self._http.close()
        with contextlib.suppress(OSError):
            os.unlink(self._address)

    def _answer(self, seconds: float) -> Answer:
        """The next line of its answers; raises TimeoutError or EOFError."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while b"\n" not in self._output:
            left = deadline - time.monotonic()
            if not poll.poll(max(0.0, left) * 1000):
                raise TimeoutError
            read = os.read(self._process.stdout.fileno(), 65536)
            if not read:
                raise EOFError
            self._output += read
        line, _, rest = bytes(self._output).partition(b"\n")
        self._output = bytearray(rest)
        return Answer.model_validate_json(line)


class Nursery:
    """Starts children. `folder` holds their sockets, and is emptied first: one sidecar has a home at a time."""

    def __init__(self, folder: Path, reach: Reach, clock: Clock) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in folder.glob("*.sock"):
            left.unlink(missing_ok=True)
        self._folder = folder
        # A socket's address has some hundred bytes; through the open folder it is short wherever the home is.
        self._folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        self._reach = reach
        self._clock = clock
        self._count = 0
        self._spare: Child | None = None
        self._spare_lock = threading.Lock()
        # A child dies with the thread that started it, so all are started by one that lasts.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="nursery")

    def boot(self, version: Version) -> Child:
        """A child that serves the version; raises RefusedSkillError."""
        child = self._take()
        try:
            if not child.awake():
                raise RefusedSkillError(Problem(None, "a process for the skill did not start", "see the sidecar's log"))
            child.load(version, self._reach)
        except RefusedSkillError:
            child.stop()
            raise
        finally:
            self.keep_spare()
        return child

    def keep_spare(self) -> None:
        self._starter.submit(self._start_spare)

    def stop(self) -> None:
        self._starter.shutdown(wait=True, cancel_futures=True)
        with self._spare_lock:
            if self._spare is not None:
                self._spare.stop()
                self._spare = None
        os.close(self._folder_fd)

    def _take(self) -> Child:
        with self._spare_lock:
            spare, self._spare = self._spare, None
        if spare is not None and spare.alive:
            return spare
        return self._starter.submit(self._start).result()

    def _start_spare(self) -> None:
        with self._spare_lock:
            if self._spare is None:
                self._spare = self._start()

    def _start(self) -> Child:
        self._count += 1
        name = f"{os.getpid()}-{self._count}.sock"
        address = f"/proc/self/fd/{self._folder_fd}/{name}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(address)
        os.chmod(self._folder / name, 0o600)
        listener.listen(128)
        argv = [sys.executable, "-P", "-m", "sidecar.child", str(listener.fileno()), str(os.getpid())]
        environment = {name: os.environ[name] for name in _SHOWN if name in os.environ}
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[listener.fileno()], env=environment
        )
        return Child(process, address, listener, self._clock)
