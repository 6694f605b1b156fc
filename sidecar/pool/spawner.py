"""Start child processes, with a spare one kept awake so that a saved skill need not wait for imports."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from core.errors import UnavailableError
from sidecar.broker.identity import SkillIdentity
from sidecar.jail.jail import Jail
from sidecar.pool.child_output import ChildOutput
from sidecar.pool.child_process import ChildProcess, SkillCode
from sidecar.pool.limits import LimitGuard
from skills.format.problem import RefusedSkillError

_SPARE_AFTER = 0.2


class ChildBroker(Protocol):
    """What a child reaches the world through, over a socket that is its own."""

    def open(self, identity: SkillIdentity, address: Path) -> None:
        """Answer at the unix socket `address`, which is made here, on behalf of `identity`."""

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        """Whoever asks there is `identity` from now on."""

    def close(self, address: Path) -> None:
        """Answer there no more."""


class ClosedBroker:
    """The broker of children who reach nothing."""

    def open(self, identity: SkillIdentity, address: Path) -> None:
        pass

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        pass

    def close(self, address: Path) -> None:
        pass


class Spawner:
    """Its children live in `jail` and speak to `broker`."""

    def __init__(self, jail: Jail, broker: ChildBroker) -> None:
        self._jail = jail
        self._broker = broker
        self._voices = ChildOutput()
        self._guard = LimitGuard(jail.limits)
        self._spare: ChildProcess | None = None
        self._spare_lock = threading.Lock()
        # A child dies with the thread that started it, so all are started by one that lasts.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="nursery")

    def boot(self, version: SkillCode) -> ChildProcess:
        """A child that serves the version; raises RefusedSkillError, or UnavailableError where none can be started.

        While it loads the file it is refused everything, and with the mode `loading` until it is admitted.
        """
        child = self._take()
        try:
            if not child.awake():
                raise UnavailableError("a process for the skill did not start; the sidecar's log may say why")
            self._open_door(child, version)
            self._voices.name(child.pid, version.stem)
            child.called = self._guard.called
            self._guard.watch(child, version.stem)
            child.load(version)
            self._guard.loaded(child)
            self.admit(child, version)
        except (RefusedSkillError, UnavailableError):
            self.end(child)
            raise
        finally:
            # Not at once: its imports would hold up the save that this child is for.
            later = threading.Timer(_SPARE_AFTER, self.keep_spare)
            later.daemon = True
            later.start()
        return child

    def admit(self, child: ChildProcess, version: SkillCode) -> None:
        """The child may do what the version may from now on."""
        self._broker.admit(version.identity, child.inmate.address)

    def end(self, child: ChildProcess) -> None:
        """Kill the child with all that it started, and shut its way to the broker."""
        self._broker.close(child.inmate.address)
        self._guard.leave(child)
        self._voices.leave(child.pid)
        child.stop()

    def keep_spare(self) -> None:
        # The sidecar may be stopping.
        with contextlib.suppress(RuntimeError):
            self._starter.submit(self._start_spare)

    def warm(self, seconds: float) -> None:
        """Wait until the spare could take an order, but not longer than so many seconds."""
        self._starter.submit(self._start_spare).result()
        with self._spare_lock:
            spare = self._spare
        if spare is not None:
            spare.awake(seconds)

    def stop(self) -> None:
        """When every child was ended."""
        self._starter.shutdown(wait=True, cancel_futures=True)
        with self._spare_lock:
            if self._spare is not None:
                self._voices.leave(self._spare.pid)
                self._spare.stop()
                self._spare = None
        self._voices.stop()
        self._guard.stop()
        self._jail.close()

    def _open_door(self, child: ChildProcess, version: SkillCode) -> None:
        address, user = child.inmate.address, child.inmate.user
        self._broker.open(replace(version.identity, mode="loading"), address)
        if address.exists():
            os.chmod(address, 0o600)
            if user is not None:
                os.chown(address, user, user)

    def _take(self) -> ChildProcess:
        with self._spare_lock:
            spare, self._spare = self._spare, None
        if spare is not None and spare.alive:
            return spare
        if spare is not None:
            self._voices.leave(spare.pid)
            spare.stop()
        try:
            starting = self._starter.submit(self._start)
        except RuntimeError:
            raise UnavailableError("the sidecar is stopping") from None
        return starting.result()

    def _start_spare(self) -> None:
        with self._spare_lock:
            if self._spare is None:
                self._spare = self._start()

    def _start(self) -> ChildProcess:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                inmate = self._jail.start(theirs.fileno())
            except OSError as error:
                ours.close()
                raise UnavailableError(f"no process can be started for a skill: {error}") from error
        assert inmate.process.stderr is not None
        self._voices.hear(inmate.process.pid, inmate.process.stderr.fileno())
        return ChildProcess(inmate, ours, self._jail)
