"""A child process that serves one version of one skill, as the sidecar sees it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import ValidationError

from core.errors import UnavailableError
from sidecar.broker.identity import IdentityMode, SkillIdentity
from sidecar.child.ipc import CallHead, ChildAnswer, FrameError, ReplyHead, ServeOrder, receive_frame, send_frame
from sidecar.child.process_tree import Idleness
from sidecar.child.zygote import CALL_SECONDS
from sidecar.jail.jail import Inmate, Jail
from skills.format.manifest import SkillManifest
from skills.format.problem import RefusedSkillError, SkillProblem

MAX_REPLY = 6 * 1024 * 1024
"""Bytes of an answer. Engines keep 4 MiB of a step's output; parsed, small values take ten times their room."""
_WAKE_SECONDS = 60.0
# Loading takes about a tenth of a second. The child limits its own processor time; these limits are for a file that
# waits. A busy machine may keep a process from running but not from being ready to run, so only idle time counts. The
# last is for a file that seems to work and never ends.
_LOOK_SECONDS = 0.25
_IDLE_SECONDS = 5.0
_LOAD_SECONDS = 120.0
_MAX_LINE = 1024 * 1024
# How much longer than a run's own limit the sidecar waits, so that the child can end the run and say so.
_GRACE_SECONDS = 15.0
# How long a child may be too busy to accept a call.
_HANDOVER_SECONDS = 30.0
_ENDING_SECONDS = 1.0


class ProcessLostError(UnavailableError):
    """A call that did not end because its process did, presumably through another run's fault.

    All runs of a version share a process. The call may be made again in a separate one. `begun` says whether it had
    been handed to the process.
    """

    def __init__(self, message: str, *, begun: bool) -> None:
        super().__init__(message)
        self.begun = begun


class EndedError(UnavailableError):
    """A run that ended, by its limits or by what it did to its process, before it gave a readable answer."""


@dataclass(frozen=True)
class SkillCode:
    """Code to serve: its hash, the file it was saved as, and what it may do.

    `given_up` is set when its loading is no longer waited for.
    """

    stem: str
    sha: str
    source: bytes
    path: str
    version_id: str
    manifest: SkillManifest
    granted: frozenset[str] = frozenset()
    mode: IdentityMode = "live"
    given_up: threading.Event = field(default_factory=threading.Event, compare=False, repr=False)

    @property
    def app_id(self) -> str:
        return f"skill-{self.stem}"

    @property
    def identity(self) -> SkillIdentity:
        """The identity of this version at the broker."""
        return SkillIdentity(self.stem, self.version_id, self.sha, self.manifest, self.granted, self.mode)


class ChildProcess:
    """A process in the jail. `calls` is the sidecar's end of the socket over which it receives calls."""

    def __init__(self, inmate: Inmate, calls: socket.socket, jail: Jail) -> None:
        self.inmate = inmate
        calls.settimeout(_HANDOVER_SECONDS)
        self._calls = calls
        self._jail = jail
        self._output = bytearray()
        self._functions: list[dict[str, Any]] = []
        self._app_id = ""
        self.tried: Sequence[str] = ()
        """What it was seen to try while it loaded the file."""
        self._open_calls, self._call_count = 0, 0
        self.on_call: Callable[[], None] = lambda: None
        """Called at the beginning of each call, for the guard that watches busy processes."""
        self._awake = False
        self._waking = threading.Lock()
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self.inmate.process.pid

    @property
    def alive(self) -> bool:
        return self.inmate.process.poll() is None

    @property
    def busy(self) -> bool:
        return self._open_calls > 0

    @property
    def open_calls(self) -> int:
        """Calls under way."""
        return self._open_calls

    @property
    def call_count(self) -> int:
        """All calls so far."""
        return self._call_count

    def kill(self) -> None:
        """Kill the process and all that it started; calls under way fail."""
        self._jail.kill(self.inmate)

    def wait_until_awake(self, seconds: float = _WAKE_SECONDS) -> bool:
        """Wait until it can take an order; return False when it cannot within `seconds`, or never will."""
        with self._waking:
            if not self._awake:
                try:
                    self._awake = self._read_answer(seconds).state == "awake"
                except (EOFError, TimeoutError, ValueError):
                    return False
            return self._awake

    def load(self, version: SkillCode) -> None:
        """Have it load and serve a version; raises RefusedSkillError."""
        order = ServeOrder(
            stem=version.stem,
            app_id=version.app_id,
            source=version.source,
            path=version.path,
            sha=version.sha,
            broker=self.inmate.broker,
        )
        assert self.inmate.process.stdin is not None
        fix = "loading the file must only define functions"
        try:
            self.inmate.process.stdin.write(order.model_dump_json().encode() + b"\n")
            self.inmate.process.stdin.flush()
            answer = self._read_load_answer(version.given_up)
        except TimeoutError as error:
            raise RefusedSkillError(SkillProblem(None, str(error), "let the file only define functions")) from None
        except (EOFError, OSError):
            raise RefusedSkillError(SkillProblem(None, "the process ended while loading the file", fix)) from None
        except ValueError:
            raise RefusedSkillError(SkillProblem(None, "the process gave an answer that cannot be read", fix)) from None
        self.tried = answer.tried
        if answer.problem is not None:
            raise RefusedSkillError(answer.problem, tried=answer.tried)
        self._functions, self._app_id = answer.functions, version.app_id

    def functions(self) -> list[dict[str, Any]]:
        """Return the functions as the process states them, which are not to be trusted."""
        return self._functions

    @property
    def own_functions(self) -> frozenset[str]:
        """The full ids of the functions of the version it serves."""
        ids = (str(one.get("id")) for one in self._functions)
        return frozenset(one for one in ids if one.startswith(f"{self._app_id}-"))

    def call(
        self,
        method: str,
        path: str,
        query: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        seconds: float | None = None,
    ) -> httpx.Response:
        """Have a forked process answer a call within `seconds`, by default the jail's limit.

        The response's extension `tried` lists what that process saw the skill try. Raises EndedError when the forked
        process ended, was too slow or gave an unreadable answer, ProcessLostError when the process that forks ended or
        had no room, and UnavailableError when it could not be reached.
        """
        allowed = min(seconds, self._jail.limits.seconds) if seconds is not None else self._jail.limits.seconds
        ours, theirs = socket.socketpair()
        begun = False
        with self._lock:
            self._open_calls, self._call_count = self._open_calls + 1, self._call_count + 1
        self.on_call()
        try:
            with ours:
                with theirs:
                    socket.send_fds(self._calls, [CALL_SECONDS.pack(allowed)], [theirs.fileno()])
                begun = True
                until = time.monotonic() + allowed + _GRACE_SECONDS
                ours.settimeout(allowed)
                send_frame(ours, CallHead(method=method, path=path, query=query, headers=dict(headers)), body)
                head, answer = receive_frame(ours, ReplyHead, until=until, most=MAX_REPLY)
        except FrameError as error:
            if self._is_ending():
                raise ProcessLostError("the process of the skill ended during the run", begun=True) from None
            raise EndedError(f"the answer of the skill's process cannot be used: {error}") from None
        except TimeoutError:
            # The child ends its runs in time, unless it was tampered with.
            self.kill()
            raise EndedError(f"the run took more than {allowed:g} s") from None
        except OSError as error:
            reason = f"the process of the skill ended before it answered ({error})"
            if self._is_ending():
                raise ProcessLostError(reason, begun=begun) from None
            raise UnavailableError(reason) from None
        finally:
            with self._lock:
                self._open_calls -= 1
        if head.ended is not None and not head.begun:
            raise ProcessLostError(f"the run was not begun: {head.ended[:500]}", begun=False)
        if head.ended is not None:
            raise EndedError(f"the run ended without an answer: {head.ended[:500]}")
        return _make_response(head, answer)

    def _is_ending(self) -> bool:
        """Return whether the process ends; its socket may close a moment before that can be seen."""
        try:
            self.inmate.process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> None:
        """Kill the process and remove what belongs to it."""
        self._jail.end(self.inmate)
        self._calls.close()

    def _read_load_answer(self, given_up: threading.Event) -> ChildAnswer:
        """Read the answer to an order, as long as the process works on it.

        Raises as `_read_answer` does; TimeoutError then holds the reason.
        """
        idleness, idle, until = Idleness(self.pid), 0.0, time.monotonic() + _LOAD_SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                return self._read_answer(_LOOK_SECONDS)
            idle += _LOOK_SECONDS if idleness.looks_idle() else 0.0
            if idle >= _IDLE_SECONDS:
                raise TimeoutError(f"loading waited for more than {_IDLE_SECONDS:.0f} s")
            if given_up.is_set():
                raise TimeoutError("the file was refused while it was loading")
            if time.monotonic() >= until:
                raise TimeoutError(f"loading took more than {_LOAD_SECONDS:.0f} s")

    def _read_answer(self, seconds: float) -> ChildAnswer:
        """Read the next line of answers; raises TimeoutError, EOFError or ValueError."""
        assert self.inmate.process.stdout is not None
        deadline = time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.inmate.process.stdout, select.POLLIN)
        while b"\n" not in self._output:
            left = deadline - time.monotonic()
            if not poll.poll(max(0.0, left) * 1000):
                raise TimeoutError
            read = os.read(self.inmate.process.stdout.fileno(), 65536)
            if not read:
                raise EOFError
            self._output += read
            if len(self._output) > _MAX_LINE:
                raise ValueError("a line too long")
        line, _, rest = bytes(self._output).partition(b"\n")
        self._output = bytearray(rest)
        return ChildAnswer.model_validate_json(line)


def _make_response(head: ReplyHead, body: bytes) -> httpx.Response:
    with contextlib.suppress(ValidationError, ValueError, UnicodeError, TypeError):
        return httpx.Response(head.status, headers=head.headers, content=body, extensions={"tried": head.tried})
    raise EndedError("the answer of the skill's process cannot be used: its headers are malformed")
