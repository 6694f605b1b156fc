"""`python -m sidecar.child FD CONFINEMENT`: serve one skill version until the other end of the socket FD is closed."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import flask
import httpx
import inngest.flask

from sidecar.child.attempts import Attempts
from sidecar.child.confine import Confinement, confine
from sidecar.child.descendants import children
from sidecar.child.landlock import keep_to
from sidecar.child.limits import Limits
from sidecar.child.loading import Loaded, load
from sidecar.child.order import Answer, Order
from sidecar.child.running import run_one
from sidecar.child.scratch import Scratch
from sidecar.child.warming import warm_client
from sidecar.child.zygote import Zygote
from skills.kit.door import door
from skills.problem import Problem, RefusedSkillError


def main() -> None:
    calls, asked = socket.socket(fileno=int(sys.argv[1])), Confinement.model_validate_json(sys.argv[2])
    confine(asked)
    # Ctrl-C goes to everybody at the terminal; when this process ends is the sidecar's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, client = _own_stdout(), warm_client()
    _say(answers, Answer(state="awake"))
    line = sys.stdin.readline()
    if not line:
        return
    order = Order.model_validate_json(line)
    door.open_at(order.broker)
    seen = Attempts([order.path, os.path.dirname(order.broker)])
    seen.listen()
    try:
        with seen.watching():
            loaded = load(order, client)
        _refuse_strays()
    except RefusedSkillError as error:
        _say(answers, Answer(state="serving", problem=error.problems[0], tried=seen.told()))
        return
    _say(answers, Answer(state="serving", functions=loaded.configurations, tried=seen.told()))
    answer = _server(order, loaded, seen, asked.limits)
    # What was loaded is never collected: a collection in a forked process would copy all of it.
    gc.collect()
    gc.freeze()
    scratch = Scratch(Path(asked.scratch), own=asked.own_scratch, disk=asked.limits.disk)
    Zygote(calls, answer, scratch, asked.limits, _run_fence(asked)).serve()


def _run_fence(asked: Confinement) -> Callable[[Path], None]:
    if not asked.fence_runs:
        return lambda _: None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda folder: keep_to(libc, str(folder))


def _refuse_strays() -> None:
    """What runs beside the functions would run for ever, and nobody would know."""
    if children() or _threads() > 1:
        problem = Problem(None, "loading the file started a thread or a process", "start nothing outside of a function")
        raise RefusedSkillError(problem)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return threading.active_count()


class _ByDoor:
    """In place of the SDK's HTTP client, which would look for a network that is not there; it takes no other."""

    def send(self, request: httpx.Request) -> httpx.Response:
        return door.http().send(request)


def _server(order: Order, loaded: Loaded, seen: Attempts, limits: Limits) -> Callable[[socket.socket], None]:
    app = flask.Flask("skill")
    inngest.flask.serve(app, loaded.client, loaded.functions, serve_path=f"/api/inngest/{order.stem}")
    loaded.client._http_client._http_client_sync = _ByDoor()  # type: ignore[assignment]

    def begin(run_id: str) -> None:
        door.run_id = run_id

    return lambda connection: run_one(connection, app, begin, seen, limits.cpu_seconds)


def _own_stdout() -> IO[str]:
    """Keep the pipe to the sidecar for our answers; what the skill prints goes where its errors go."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _say(answers: IO[str], answer: Answer) -> None:
    answers.write(answer.model_dump_json() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
