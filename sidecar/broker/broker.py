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

_log = logging.getLogger(__name__)
_EVENTS_PATH = "/events"
_PAUSE_SECONDS = 0.1


class KeyedLock:
    """Locks by name: a second holder of the same name waits for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._wanted: Counter[Hashable] = Counter()

    @contextmanager
    def hold(self, name: Hashable) -> Iterator[None]:
        """Hold the lock of this name during the block."""
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


@dataclass(frozen=True)
class BrokerRoute:
    """A path's kind of request and the service that performs it."""

    request_type: type[BrokerRequest]
    service: BrokerService[Any]


@dataclass
class _SocketOwner:
    """The identity that asks at a socket; it is replaced when the process may do more."""

    identity: SkillIdentity


class Broker:
    """Answers requests at one socket for each child. `open`, `admit` and `close` may be called from any thread."""

    def __init__(
        self, routes: Mapping[str, BrokerRoute], database: Database, workspace_id: str, recordings: Recordings
    ) -> None:
        self._routes = routes
        self._database = database
        self._workspace_id = workspace_id
        self.recordings = recordings
        self.simulations = Simulations()
        self._rate_limits = BrokerRateLimits()
        self._asking_model = KeyedLock()
        self._lock = threading.Lock()
        self._sockets: dict[Path, wire.BrokerSocket] = {}
        self._owners: dict[Path, _SocketOwner] = {}

    def open(self, identity: SkillIdentity, address: Path) -> None:
        """Make the unix socket `address` and answer there on behalf of `identity`."""
        owner = _SocketOwner(identity)
        broker_socket = wire.BrokerSocket(_open_listener(address), identity.skill_id, partial(self._answer, owner))
        with self._lock:
            self._sockets[address], self._owners[address] = broker_socket, owner

    def admit(self, identity: SkillIdentity, address: Path) -> None:
        """Treat requests at this open socket as `identity`'s from now on."""
        with self._lock:
            if (owner := self._owners.get(address)) is not None:
                owner.identity = identity

    def close(self, address: Path) -> None:
        """Stop answering at this socket, and remove it."""
        with self._lock:
            broker_socket = self._sockets.pop(address, None)
            self._owners.pop(address, None)
        if broker_socket is not None:
            broker_socket.close()
            with suppress(OSError):
                address.unlink()

    def stop(self) -> None:
        """Close all sockets."""
        with self._lock:
            addresses = list(self._sockets)
        for address in addresses:
            self.close(address)

    def _answer(self, owner: _SocketOwner, received: wire.WireRequest) -> wire.WireAnswer:
        identity = owner.identity
        asker = Asker(identity, received.run_id)
        try:
            return _wire_answer(200, self._handle(asker, received))
        except RequestDenied as denied:
            self._record_refusal(asker, denied)
            return _refusal_answer(403, str(denied), retriable=False)
        except RequestDeferred as deferred:
            return _refusal_answer(429, str(deferred), retriable=True, wait=deferred.wait)
        except RequestFailed as failed:
            return _refusal_answer(503 if failed.retriable else 422, str(failed), retriable=failed.retriable)
        except LoopwrightError as error:
            return _refusal_answer(503 if error.retriable else 422, str(error), retriable=error.retriable)
        except SQLAlchemyError as error:
            _log.warning("the broker's database did not answer: %s", type(error).__name__)
            return _refusal_answer(503, "the database did not answer", retriable=True)
        except Exception:  # noqa: BLE001 - the boundary to foreign code: it learns that we failed, not how
            _log.exception("a request of the skill %s to %s failed", identity.skill_id, received.path[:80])
            return _refusal_answer(500, "the broker could not do it; its log says why", retriable=True)

    def _handle(self, asker: Asker, received: wire.WireRequest) -> ServiceAnswer:
        """Check the request's limits and permissions, then perform or simulate it."""
        path = _EVENTS_PATH if received.path.startswith("/e/") else received.path
        route = self._routes.get(path)
        # A version that is tried is counted separately, so that its simulated requests use up no real limit.
        counted_as = f"{asker.identity.mode} {asker.stem}"
        # Counted before the body is parsed, since parsing alone takes time.
        self._rate_limits.check(counted_as, path if route is not None else "/")
        self._rate_limits.check(counted_as, "bytes", len(received.body))
        if asker.identity.mode == "loading":
            raise RequestDenied("loading", f"it asked for {received.path[:80]} while its file was loaded")
        if received.too_large:
            raise RequestDenied(
                "limit", f"a request has at most {wire.MAX_REQUEST_BODY} bytes, not {received.too_large}"
            )
        if route is None:
            raise RequestFailed(f"the broker has no route {path[:80]}", retriable=False)
        request = read_request(route.request_type, received.body, events=received.path.startswith("/e/"))
        if asker.identity.mode == "live":
            asker = self._check_run(asker)
        if isinstance(request, EventsRequest):
            self._rate_limits.check(counted_as, "events", len(request.events))
        route.service.check(asker, request)
        if asker.identity.mode != "live":
            return self._simulate(route.service, asker, path, request)
        return self._perform_once(route.service, asker, path, request)

    def _perform_once(
        self, service: BrokerService[Any], asker: Asker, path: str, request: BrokerRequest
    ) -> ServiceAnswer:
        """Perform a request; a question that the model has answered in this run gets the same answer."""
        if not isinstance(request, LlmRequest):
            return self._perform(service, asker, path, request)
        # A step whose answer was lost is repeated. The model's answer may be recorded already, or be on its way.
        with self._asking_model.hold((asker.run_id, exact_key(path, request))):
            answered = self.recordings.find_answer(asker.stem, asker.run_id, path, request)
            return answered if answered is not None else self._perform(service, asker, path, request)

    def _perform(self, service: BrokerService[Any], asker: Asker, path: str, request: BrokerRequest) -> ServiceAnswer:
        """Perform the request and record its answer."""
        answer = service.do(asker, request)
        self.recordings.record(asker.stem, asker.run_id, path, request, answer, has_effect=service.has_effect(request))
        return answer

    def _simulate(self, service: BrokerService[Any], asker: Asker, path: str, request: BrokerRequest) -> ServiceAnswer:
        """Answer in the simulation that this run belongs to."""
        simulation = self.simulations.find(asker.stem, asker.run_id)
        if simulation is None:
            raise RequestDenied("run", "this process only tries the skill, and no trial is running")
        return simulation.answer(service, asker, path, request)

    def _check_run(self, asker: Asker) -> Asker:
        """Check the run that the request names, and return the asker with the grants of this moment.

        The run must be running, on the version that asks: a skill knows the ids of its earlier runs. Grants are read
        again, since a busy process may have started with more. Raises RequestDenied.
        """
        with self._database.reading(self._workspace_id) as scope:
            run = runs.find_run(scope, asker.run_id) if asker.run_id else None
            granted = grants.granted_permissions(scope, asker.stem) & asker.identity.granted
        if not asker.run_id:
            raise RequestDenied("run", "the request names no run")
        if run is None or run.skill_id != asker.stem:
            raise RequestDenied("run", f"{asker.run_id[:64]} is not a run of this skill")
        if run.version_id != asker.identity.version_id:
            raise RequestDenied("run", f"{run.run_id} is a run of another version of this skill")
        if run.status != "running":
            raise RequestDenied("run", f"{run.run_id} has ended")
        return replace(asker, identity=replace(asker.identity, granted=granted))

    def _record_refusal(self, asker: Asker, denied: RequestDenied) -> None:
        """Log and store a refusal, up to a rate; a simulated run notes it in any case."""
        simulation = self.simulations.find(asker.stem, asker.run_id)
        if simulation is not None:
            simulation.note_refusal(str(denied))
        if not self._rate_limits.allows(asker.stem, "refusals"):
            # Beyond the rate, the skill waits, and neither the log nor the database is written to.
            time.sleep(_PAUSE_SECONDS)
            return
        # Texts of a skill are logged on one line.
        detail = " ".join(str(denied).split())[:500]
        _log.warning("skill %s was refused (%s): %s", asker.stem, denied.what, detail)
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
            _log.warning("a refusal of skill %s could not be stored: %s", asker.stem, type(error).__name__)


def _wire_answer(status: int, answer: Mapping[str, Any]) -> wire.WireAnswer:
    return wire.WireAnswer(status, json.dumps(answer).encode())


def _refusal_answer(status: int, text: str, *, retriable: bool, wait: timedelta | None = None) -> wire.WireAnswer:
    # The SDK looks for `ids` and `status` after it sent events.
    later = {} if wait is None else {"wait": wait.total_seconds()}
    return _wire_answer(status, {"error": text, "retriable": retriable, "ids": [], "status": status, **later})


def _open_listener(address: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # A socket's address is limited to some hundred bytes; through the open folder it is short wherever the home is.
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
