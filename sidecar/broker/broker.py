"""The broker: answers each child on its socket, within what its skill was granted."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from core.database import Database
from core.errors import LoopwrightError
from sidecar.broker import wire
from sidecar.broker.errors import RequestDeferred, RequestDenied, RequestFailed
from sidecar.broker.identity import SkillIdentity
from sidecar.broker.rate_limits import BrokerRateLimits
from sidecar.broker.recordings import Recordings, exact_key
from sidecar.broker.requests import BrokerRequest, EventsRequest, LlmRequest, read_request
from sidecar.broker.service import Asker, BrokerService, ServiceAnswer
from sidecar.broker.simulation import Simulations
from skills.book import grants, refusals, runs


class KeyedLock:
    """Who comes second with the same name waits until the first one has finished."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._wanted: Counter[Hashable] = Counter()

    @contextmanager
    def held(self, name: Hashable) -> Iterator[None]:
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
            self._wanted[name] += 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                self._wanted[name] -= 1
                if not self._wanted[name]:
                    del self._wanted[name], self._locks[name]


_log = logging.getLogger(__name__)
_EVENTS_PATH = "/events"
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class BrokerRoute:
    """A path, what is asked there, and who does it."""

    shape: type[BrokerRequest]
    act: BrokerService[Any]


@dataclass
class _SocketOwner:
    """Who is at one of the sockets; as the same process, it may become somebody who may do more."""

    identity: SkillIdentity


class Broker:
    """`open`, `admit` and `close` may be called from any thread."""

    def __init__(
        self, doors: Mapping[str, BrokerRoute], database: Database, workspace_id: str, recordings: Recordings
    ) -> None:
        self._doors = doors
        self._database = database
        self._workspace_id = workspace_id
        self.recordings = recordings
        self.pretences = Simulations()
        self._pace = BrokerRateLimits()
        self._thinking = KeyedLock()
        self._lock = threading.Lock()
        self._lines: dict[Path, wire.BrokerSocket] = {}
        self._guests: dict[Path, _SocketOwner] = {}

    def open(self, identity: SkillIdentity, address: Path) -> None:
        """Answer at the unix socket `address`, which is made here, on behalf of `identity`."""
        guest = _SocketOwner(identity)
        line = wire.BrokerSocket(_open_listener(address), identity.skill_id, partial(self._answer, guest))
        with self._lock:
            self._lines[address], self._guests[address] = line, guest

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        """Whoever asks at this open socket is `identity` from now on."""
        with self._lock:
            if (guest := self._guests.get(address)) is not None:
                guest.identity = identity

    def close(self, address: Path) -> None:
        """Answer there no more, and take the socket away."""
        with self._lock:
            line = self._lines.pop(address, None)
            self._guests.pop(address, None)
        if line is not None:
            line.close()
            with suppress(OSError):
                address.unlink()

    def stop(self) -> None:
        with self._lock:
            addresses = list(self._lines)
        for address in addresses:
            self.close(address)

    def _answer(self, guest: _SocketOwner, request: wire.WireRequest) -> wire.WireAnswer:
        identity = guest.identity
        asker = Asker(identity, request.run_id)
        try:
            return _wire_answer(200, self._answered(asker, request))
        except RequestDenied as denied:
            self._write_down(asker, denied)
            return _refusal_answer(403, str(denied), retriable=False)
        except RequestDeferred as waits:
            return _refusal_answer(429, str(waits), retriable=True, wait=waits.wait)
        except RequestFailed as failed:
            return _refusal_answer(503 if failed.retriable else 422, str(failed), retriable=failed.retriable)
        except LoopwrightError as error:
            return _refusal_answer(503 if error.retriable else 422, str(error), retriable=error.retriable)
        except SQLAlchemyError as error:
            _log.warning("the broker's database did not answer: %s", type(error).__name__)
            return _refusal_answer(503, "the database did not answer", retriable=True)
        except Exception:  # noqa: BLE001 - the boundary to foreign code: it hears of our faults, and not how they look
            _log.exception("a request of the skill %s to %s broke", identity.skill_id, request.path[:80])
            return _refusal_answer(500, "the broker could not do it; its log says why", retriable=True)

    def _answered(self, asker: Asker, request: wire.WireRequest) -> ServiceAnswer:
        path = _EVENTS_PATH if request.path.startswith("/e/") else request.path
        door = self._doors.get(path)
        # A skill that is tried counts by itself: its pretended notices keep no real one from being told.
        who = f"{asker.identity.mode} {asker.stem}"
        # Before anything is read of it, since that alone takes everybody's time.
        self._pace.check(who, path if door is not None else "/")
        self._pace.check(who, "bytes", len(request.body))
        if asker.identity.mode == "loading":
            raise RequestDenied("loading", f"it asked for {request.path[:80]} while its file was loaded")
        if request.too_large:
            raise RequestDenied(
                "limit", f"a request has at most {wire.MAX_REQUEST_BODY} bytes, not {request.too_large}"
            )
        if door is None:
            raise RequestFailed(f"the broker has nothing at {path[:80]}", retriable=False)
        ask = read_request(door.shape, request.body, events=request.path.startswith("/e/"))
        if asker.identity.mode == "live":
            asker = self._checked(asker)
        if isinstance(ask, EventsRequest):
            self._pace.check(who, "events", len(ask.events))
        door.act.check(asker, ask)
        if asker.identity.mode != "live":
            return self._pretended(door.act, asker, path, ask)
        return self._done(door.act, asker, path, ask)

    def _done(self, act: BrokerService[Any], asker: Asker, path: str, ask: BrokerRequest) -> ServiceAnswer:
        if not isinstance(ask, LlmRequest):
            return self._made(act, asker, path, ask)
        # The step that asked is done again when its answer got lost; the model's answer did not, or is still coming.
        with self._thinking.held((asker.run_id, exact_key(path, ask))):
            said = self.recordings.answer_of(asker.stem, asker.run_id, path, ask)
            return said if said is not None else self._made(act, asker, path, ask)

    def _made(self, act: BrokerService[Any], asker: Asker, path: str, ask: BrokerRequest) -> ServiceAnswer:
        answer = act.do(asker, ask)
        self.recordings.keep(asker.stem, asker.run_id, path, ask, answer, has_effect=act.has_effect(ask))
        return answer

    def _pretended(self, act: BrokerService[Any], asker: Asker, path: str, ask: BrokerRequest) -> ServiceAnswer:
        pretence = self.pretences.find(asker.stem, asker.run_id)
        if pretence is None:
            raise RequestDenied("run", "this process only tries the skill, and no such trial is going on")
        return pretence.answer(act, asker, path, ask)

    def _checked(self, asker: Asker) -> Asker:
        """With what is granted by now: a process that is busy all the time was told of more when it began.

        A run that the skill names must go on, on the version that asks: who was called once knows its id.
        """
        with self._database.reading(self._workspace_id) as scope:
            run = runs.find_run(scope, asker.run_id) if asker.run_id else None
            granted = grants.granted_permissions(scope, asker.stem) & asker.identity.granted
        if run is None or run.skill_id != asker.stem:
            raise RequestDenied("run", f"{asker.run_id[:64] or 'no run'} is no run of this skill")
        if run.version_id != asker.identity.version_id:
            raise RequestDenied("run", f"{run.run_id} is a run of another version of this skill")
        if run.status != "running":
            raise RequestDenied("run", f"{run.run_id} has ended")
        return replace(asker, identity=replace(asker.identity, granted=granted))

    def _write_down(self, asker: Asker, denied: RequestDenied) -> None:
        pretence = self.pretences.find(asker.stem, asker.run_id)
        if pretence is not None:
            pretence.note_refusal(str(denied))
        if not self._pace.allows(asker.stem, "refusals"):
            # Who goes on all the same waits for it, and neither the log nor the database hears of it.
            time.sleep(_PAUSE_SECONDS)
            return
        # What a skill says stays in its line.
        said = " ".join(str(denied).split())[:500]
        _log.warning("skill %s was refused (%s): %s", asker.stem, denied.what, said)
        try:
            with self._database.transaction(self._workspace_id, "skill.refusal") as scope:
                refusals.record_refusal(
                    scope,
                    skill_id=asker.stem,
                    version_id=asker.identity.version_id,
                    run_id=asker.run_id or None,
                    what=denied.what,
                    detail=str(denied),
                )
        except SQLAlchemyError as error:
            _log.warning("that refusal is not written down: %s", type(error).__name__)


def _wire_answer(status: int, answer: Mapping[str, Any]) -> wire.WireAnswer:
    return wire.WireAnswer(status, json.dumps(answer).encode())


def _refusal_answer(status: int, text: str, *, retriable: bool, wait: timedelta | None = None) -> wire.WireAnswer:
    # `ids` and `status` are what the SDK looks for after it sent events.
    later = {} if wait is None else {"wait": wait.total_seconds()}
    return _wire_answer(status, {"error": text, "retriable": retriable, "ids": [], "status": status, **later})


def _open_listener(address: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A socket's address has some hundred bytes; through the open folder it is short wherever the home is.
    folder = os.open(address.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{address.name}")
        os.chmod(address, 0o600)
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener
