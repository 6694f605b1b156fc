"""Serve one skill version: `python -m sidecar.child FD CONFINEMENT`.

Ends when the other end of the socket FD is closed.
"""

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
from sidecar.child.call import answer_run_call
from sidecar.child.confinement import Confinement, confine_process
from sidecar.child.ipc import ChildAnswer, ServeOrder
from sidecar.child.landlock import fence_changes
from sidecar.child.limits import Limits
from sidecar.child.loader import LoadedSkill, load_skill, warm_client
from sidecar.child.process_tree import list_children
from sidecar.child.scratch import Scratch
from sidecar.child.zygote import Zygote
from skills.format.problem import RefusedSkillError, SkillProblem
from skills.kit.door import door


def main() -> None:
    calls, asked = socket.socket(fileno=int(sys.argv[1])), Confinement.model_validate_json(sys.argv[2])
    confine_process(asked)
    # Ctrl-C goes to everybody at the terminal; when this process ends is the sidecar's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, client = _take_stdout(), warm_client()
    _write_answer(answers, ChildAnswer(state="awake"))
    line = sys.stdin.readline()
    if not line:
        return
    order = ServeOrder.model_validate_json(line)
    door.open_at(order.broker)
    seen = Attempts([order.path, os.path.dirname(order.broker)])
    seen.listen()
    try:
        with seen.watching():
            loaded = load_skill(order, client)
        _refuse_strays()
    except RefusedSkillError as error:
        _write_answer(answers, ChildAnswer(state="serving", problem=error.problems[0], tried=seen.told()))
        return
    _write_answer(answers, ChildAnswer(state="serving", functions=loaded.configurations, tried=seen.told()))
    answer = _make_call_handler(order, loaded, seen, asked.limits)
    # What was loaded is never collected: a collection in a forked process would copy all of it.
    gc.collect()
    gc.freeze()
    scratch = Scratch(Path(asked.scratch), own=asked.own_scratch, disk=asked.limits.disk)
    Zygote(calls, answer, scratch, asked.limits, _run_fence(asked)).serve()


def _run_fence(asked: Confinement) -> Callable[[Path], None]:
    if not asked.fence_runs:
        return lambda _: None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda folder: fence_changes(libc, str(folder))


def _refuse_strays() -> None:
    """What runs beside the functions would run for ever, and nobody would know."""
    if list_children() or _threads() > 1:
        problem = SkillProblem(
            None, "loading the file started a thread or a process", "start nothing outside of a function"
        )
        raise RefusedSkillError(problem)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return threading.active_count()


class _BrokerHttpClient:
    """In place of the SDK's HTTP client, which would look for a network that is not there; it takes no other."""

    def send(self, request: httpx.Request) -> httpx.Response:
        return door.http().send(request)


def _make_call_handler(
    order: ServeOrder, loaded: LoadedSkill, seen: Attempts, limits: Limits
) -> Callable[[socket.socket], None]:
    app = flask.Flask("skill")
    inngest.flask.serve(app, loaded.client, loaded.functions, serve_path=f"/api/inngest/{order.stem}")
    loaded.client._http_client._http_client_sync = _BrokerHttpClient()  # type: ignore[assignment]

    def begin(run_id: str) -> None:
        door.run_id = run_id

    return lambda connection: answer_run_call(connection, app, begin, seen, limits.cpu_seconds)


def _take_stdout() -> IO[str]:
    """Keep the pipe to the sidecar for our answers; what the skill prints goes where its errors go."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _write_answer(answers: IO[str], answer: ChildAnswer) -> None:
    answers.write(answer.model_dump_json() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
