"""Messages between the sidecar and a child.

On the child's standard streams: an order and answers, one line of JSON each. On a call's socket: frames of a head and a
body, each preceded by its length.
"""

from __future__ import annotations

import socket
import struct
import time
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sidecar.child.attempts import AttemptList
from skills.format.problem import SkillProblem

MAX_FRAME_HEAD = 64 * 1024
MAX_FRAME_BODY = 64 * 1024 * 1024

_LENGTHS = struct.Struct("!II")
_CHUNK = 1024 * 1024
Head = TypeVar("Head", bound=BaseModel)


class ServeOrder(BaseModel):
    """The order to serve `source`, which was saved at `path`, as the app `app_id` under `/api/inngest/<stem>`.

    `broker` is the path of the broker's unix socket as the child sees it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    stem: str
    app_id: str
    source: bytes = Field(repr=False)
    path: str
    sha: str
    broker: str


class ChildAnswer(BaseModel):
    """An answer of the child.

    State `awake`: imports are done, an order is awaited. State `serving`: the order was carried out, unless `problem`
    says why not. `functions` are the configurations of the skill's functions as the SDK writes them, `tried` what the
    file was seen to try while it was loaded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    problem: SkillProblem | None = None
    functions: list[dict[str, Any]] = []
    tried: AttemptList = []


class FrameError(Exception):
    """The other side sent no frame: it ended, sent too much, or sent something else."""


class CallHead(BaseModel):
    """A request of the engine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    path: str
    query: str
    headers: dict[str, str]


class ReplyHead(BaseModel):
    """An answer.

    `ended` says how the process of the run ended without an answer; then only `begun` matters, whether the run had
    started. `tried` lists what the process says it saw the skill try.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    status: int = 500
    headers: dict[str, str] = {}
    ended: str | None = None
    begun: bool = True
    tried: AttemptList = []


def send_frame(connection: socket.socket, head: BaseModel, body: bytes = b"") -> None:
    """Send a frame; raises OSError, and TimeoutError when the connection has a time limit."""
    text = head.model_dump_json().encode()
    connection.sendall(_LENGTHS.pack(len(text), len(body)) + text)
    connection.sendall(body)


def receive_frame(
    connection: socket.socket, kind: type[Head], *, until: float | None = None, most: int = MAX_FRAME_BODY
) -> tuple[Head, bytes]:
    """Receive a frame; raises FrameError, and TimeoutError after the monotonic time `until`."""
    head_size, body_size = _LENGTHS.unpack(_receive_exactly(connection, _LENGTHS.size, until))
    if head_size > MAX_FRAME_HEAD:
        raise FrameError(f"its head has {head_size} bytes, more than {MAX_FRAME_HEAD}")
    if body_size > most:
        raise FrameError(f"it has {body_size} bytes, more than {most}")
    try:
        head = kind.model_validate_json(_receive_exactly(connection, head_size, until))
    except ValidationError:
        raise FrameError("its head is malformed") from None
    return head, _receive_exactly(connection, body_size, until)


def _receive_exactly(connection: socket.socket, size: int, until: float | None) -> bytes:
    found = bytearray()
    while len(found) < size:
        if until is not None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        try:
            chunk = connection.recv(min(_CHUNK, size - len(found)))
        except ConnectionError:
            chunk = b""
        if not chunk:
            raise FrameError("it ended before it was whole")
        found += chunk
    return bytes(found)
