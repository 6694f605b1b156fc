"""Start child processes, with a spare one kept ready, so that a saved skill need not wait for imports."""

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
    """What connects a child to the world: a broker with one socket for each child."""

    def open(self, identity: SkillIdentity, address: Path) -> None:
        """Make the unix socket `address` and answer there on behalf of `identity`."""

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        """Treat requests at this open socket as `identity`'s from now on."""

    def close(self, address: Path) -> None:
        """Stop answering at this socket."""


class ClosedBroker:
    """A broker that answers no child."""

    def open(self, identity: SkillIdentity, address: Path) -> None:
        pass

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        pass

    def close(self, address: Path) -> None:
        pass


class Spawner:
    """Starts children in `jail`, connected to `broker`."""

    def __init__(self, jail: Jail, broker: ChildBroker) -> None:
        self._jail = jail
        self._broker = broker
        self._output = ChildOutput()
        self._guard = LimitGuard(jail.limits)
        self._spare: ChildProcess | None = None
        self._spare_lock = threading.Lock()
        # A child dies with the thread that started it, so one lasting thread starts all of them.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="spawner")

    def boot(self, version: SkillCode) -> ChildProcess:
        """Start a child that serves the version.

        The broker refuses it everything while it loads the file, and afterwards too if the mode is `loading`. Raises
        RefusedSkillError, or UnavailableError where no process can be started.
        """
        child = self._take_child()
        try:
            if not child.wait_until_awake():
                raise UnavailableError("a process for the skill did not start; the sidecar's log may say why")
            self._open_broker_socket(child, version)
            self._output.name(child.pid, version.stem)
            child.on_call = self._guard.wake
            self._guard.watch(child, version.stem)
            child.load(version)
            self._guard.mark_loaded(child)
            self.admit(child, version)
        except (RefusedSkillError, UnavailableError):
            self.end(child)
            raise
        finally:
            # Later, since the spare's imports would slow down the save that this child is for.
            later = threading.Timer(_SPARE_AFTER, self.keep_spare)
            later.daemon = True
            later.start()
        return child

    def admit(self, child: ChildProcess, version: SkillCode) -> None:
        """Allow the child what the version may do."""
        self._broker.admit(version.identity, child.inmate.address)

    def end(self, child: ChildProcess) -> None:
        """Kill the child with all that it started, and close its socket at the broker."""
        self._broker.close(child.inmate.address)
        self._guard.unwatch(child)
        self._output.remove(child.pid)
        child.stop()

    def keep_spare(self) -> None:
        """Start a spare child, if there is none."""
        # The sidecar may be stopping.
        with contextlib.suppress(RuntimeError):
            self._starter.submit(self._start_spare)

    def warm_up(self, seconds: float) -> None:
        """Wait until the spare child is ready, for at most so many seconds."""
        self._starter.submit(self._start_spare).result()
        with self._spare_lock:
            spare = self._spare
        if spare is not None:
            spare.wait_until_awake(seconds)

    def stop(self) -> None:
        """Stop; called after every child was ended."""
        self._starter.shutdown(wait=True, cancel_futures=True)
        with self._spare_lock:
            if self._spare is not None:
                self._output.remove(self._spare.pid)
                self._spare.stop()
                self._spare = None
        self._output.stop()
        self._guard.stop()
        self._jail.close()

    def _open_broker_socket(self, child: ChildProcess, version: SkillCode) -> None:
        address, user = child.inmate.address, child.inmate.user
        self._broker.open(replace(version.identity, mode="loading"), address)
        if address.exists():
            os.chmod(address, 0o600)
            if user is not None:
                os.chown(address, user, user)

    def _take_child(self) -> ChildProcess:
        with self._spare_lock:
            spare, self._spare = self._spare, None
        if spare is not None and spare.alive:
            return spare
        if spare is not None:
            self._output.remove(spare.pid)
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
        self._output.add(inmate.process.pid, inmate.process.stderr.fileno())
        return ChildProcess(inmate, ours, self._jail)
