"""The one way out of a skill's process: requests to the broker over a unix socket.

The process that runs the skill opens it: `door.open_at(path)` once, and `door.run_id = …` before each call. The broker
knows which skill is asking by the socket; the run is only what its answers are kept under. Outside Loopwright every
piece of the kit can be imported, and says why it cannot be used.
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
    """A piece of the kit was used outside Loopwright."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"skills.kit.{name} works only while Loopwright runs the skill. Try the file with `loopwright skills check"
            " FILE`; put it into a folder of LOOPWRIGHT_SKILL_PATH to have it run."
        )


class Outside:
    """Stands in for `name`: it may be imported, and says why it cannot be used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, _attribute: str) -> NoReturn:
        raise OutsideError(self._name)

    def __repr__(self) -> str:
        return f"<skills.kit.{self._name}, outside Loopwright>"


RUN_HEADER = "x-run-id"
# The broker limits each thing it does; this only ends the wait for a broker that is gone.
_TIMEOUT = httpx.Timeout(900, connect=10)


class KitDoor:
    """Requests to the broker; `run_id` is the run on whose behalf they are made."""

    def __init__(self) -> None:
        self._run_id = ""
        self._address = ""
        self._clients: dict[int, httpx.Client] = {}

    @property
    def run_id(self) -> str:
        return self._run_id

    @run_id.setter
    def run_id(self, run_id: str) -> None:
        self._run_id = run_id
        self._hang_up()

    def open_at(self, address: str) -> None:
        """Ask the broker that listens at the unix socket `address` from now on."""
        self._address = address
        self._hang_up()

    def http(self) -> httpx.Client:
        """A client of this process and run; its every request goes to the broker, whatever host its address names."""
        if not self._address:
            raise OutsideError("client")
        # A forked process must not read another's answers from a connection they share.
        client = self._clients.get(os.getpid())
        if client is None:
            made = self._made()
            # Of two threads that come first at once, both have one client: nobody would close the other.
            client = self._clients.setdefault(os.getpid(), made)
            if client is not made:
                made.close()
        return client

    def _made(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=_short(self._address), verify=False)
        # Not as the client's own header: the SDK sends requests that another client built.
        hooks = {"request": [self._say_run]}
        return httpx.Client(transport=transport, event_hooks=hooks, timeout=_TIMEOUT, trust_env=False)

    def _say_run(self, request: httpx.Request) -> None:
        request.headers[RUN_HEADER] = self._run_id

    def _hang_up(self) -> None:
        own, self._clients = self._clients.pop(os.getpid(), None), {}
        if own is not None:
            own.close()

    def ask(self, name: str, path: str, body: Mapping[str, Any]) -> Any:
        """Answers the broker's JSON; raises Refused, Unavailable, or OutsideError on behalf of `name`."""
        if not self._address:
            raise OutsideError(name)
        try:
            content = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise Refused(f"{name}: {error}; hand over only what JSON can say") from None
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


def _short(address: str) -> str:
    """A socket's address has some hundred bytes; through its opened folder it is short wherever that is."""
    if len(os.fsencode(address)) < 100:
        return address
    # It stays open as long as the process, which has one such folder.
    folder = os.open(os.path.dirname(address), os.O_PATH | os.O_DIRECTORY)
    return f"/proc/self/fd/{folder}/{os.path.basename(address)}"


door = KitDoor()
