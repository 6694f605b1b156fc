"""The only way out of a skill's process: requests to the broker over a unix socket.

The process that runs the skill calls `door.open_at(path)` once and sets `door.run_id` before each call. The broker
knows the skill by the socket; the run id only identifies the calls. Outside Loopwright every part of the kit can be
imported, and says on use why it does not work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NoReturn

import httpx

from skills.kit.errors import LimitReached, Refused, Unavailable


class OutsideError(RuntimeError):
    """A part of the kit was used outside Loopwright."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"skills.kit.{name} works only while Loopwright runs the skill. Try the file with `loopwright skills check"
            " FILE`; put it into a folder of LOOPWRIGHT_SKILL_PATH to have it run."
        )


class Outside:
    """Placeholder for `name` outside Loopwright: importable, raises OutsideError on use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, _attribute: str) -> NoReturn:
        raise OutsideError(self._name)

    def __repr__(self) -> str:
        return f"<skills.kit.{self._name}, outside Loopwright>"


RUN_HEADER = "x-run-id"
# The broker has its own limits; this one only ends the wait for a broker that is gone.
_TIMEOUT = httpx.Timeout(900, connect=10)


class KitDoor:
    """Requests to the broker; `run_id` is the run on whose behalf they are made."""

    def __init__(self) -> None:
        self._run_id = ""
        self._address = ""
        self._clients: dict[int, httpx.Client] = {}

    @property
    def run_id(self) -> str:
        """The run on whose behalf requests are made."""
        return self._run_id

    @run_id.setter
    def run_id(self, run_id: str) -> None:
        self._run_id = run_id
        self._hang_up()

    def open_at(self, address: str) -> None:
        """Send requests to the broker at the unix socket `address` from now on."""
        self._address = address
        self._hang_up()

    def http(self) -> httpx.Client:
        """Return the HTTP client of this process; all its requests go to the broker, whatever host they name."""
        if not self._address:
            raise OutsideError("client")
        # A forked process must not share a connection with its parent.
        client = self._clients.get(os.getpid())
        if client is None:
            made = self._new_client()
            # Two threads may get here at the same time: both use one client, and the other is closed.
            client = self._clients.setdefault(os.getpid(), made)
            if client is not made:
                made.close()
        return client

    def _new_client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=_short_path(self._address), verify=False)
        # A hook, not a client header: the SDK sends requests that another client has built.
        hooks = {"request": [self._add_run_header]}
        return httpx.Client(transport=transport, event_hooks=hooks, timeout=_TIMEOUT, trust_env=False)

    def _add_run_header(self, request: httpx.Request) -> None:
        request.headers[RUN_HEADER] = self._run_id

    def _hang_up(self) -> None:
        own, self._clients = self._clients.pop(os.getpid(), None), {}
        if own is not None:
            own.close()

    def ask(self, name: str, path: str, body: Mapping[str, Any]) -> Any:
        """Post JSON to the broker and return its answer; raises Refused, Unavailable or OutsideError, naming `name`."""
        if not self._address:
            raise OutsideError(name)
        try:
            content = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise Refused(f"{name}: {error}; pass only values that JSON can hold") from None
        headers = {"content-type": "application/json"}
        try:
            answer = self.http().post(f"http://broker{path}", content=content, headers=headers)
            said = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(f"{name}: the broker did not answer ({type(error).__name__})") from None
        if answer.status_code < 400:
            return said
        text = f"{name}: {said.get('error') if isinstance(said, dict) else said}"
        if isinstance(said, dict) and said.get("wait"):
            raise LimitReached(text, timedelta(seconds=said["wait"]))
        if isinstance(said, dict) and said.get("retriable"):
            raise Unavailable(text)
        raise Refused(text)


def _short_path(address: str) -> str:
    """Return a short path to a socket, through its opened folder, since a socket address is limited to ~100 bytes."""
    if len(os.fsencode(address)) < 100:
        return address
    # Kept open for the life of the process, which has one such folder.
    folder = os.open(os.path.dirname(address), os.O_PATH | os.O_DIRECTORY)
    return f"/proc/self/fd/{folder}/{os.path.basename(address)}"


door = KitDoor()
