"""Serve one skill version: `python -m sidecar.child FD CONFINEMENT`.

The process ends when the other end of the socket FD is closed.
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
    """Give up rights, wait for an order, load the skill, and answer calls until the sidecar is gone."""
    calls, confinement = socket.socket(fileno=int(sys.argv[1])), Confinement.model_validate_json(sys.argv[2])
    confine_process(confinement)
    # Ctrl-C reaches every process of the terminal, but the sidecar decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, client = _take_stdout(), warm_client()
    _write_answer(answers, ChildAnswer(state="awake"))
    line = sys.stdin.readline()
    if not line:
        return
    order = ServeOrder.model_validate_json(line)
    door.open_at(order.broker)
    attempts = Attempts([order.path, os.path.dirname(order.broker)])
    attempts.listen()
    try:
        with attempts.watching():
            loaded = load_skill(order, client)
        _refuse_strays()
    except RefusedSkillError as error:
        _write_answer(answers, ChildAnswer(state="serving", problem=error.problems[0], tried=attempts.noted()))
        return
    _write_answer(answers, ChildAnswer(state="serving", functions=loaded.configurations, tried=attempts.noted()))
    answer = _make_call_handler(order, loaded, attempts, confinement.limits)
    # Garbage collection in a forked process would copy all that was loaded, so it is excluded.
    gc.collect()
    gc.freeze()
    scratch = Scratch(Path(confinement.scratch), own=confinement.own_scratch, disk=confinement.limits.disk)
    Zygote(calls, answer, scratch, confinement.limits, _run_fence(confinement)).serve()


def _run_fence(confinement: Confinement) -> Callable[[Path], None]:
    """Return what fences a forked run in its folder, or does nothing."""
    if not confinement.fence_runs:
        return lambda _: None
    libc = ctypes.CDLL(None, use_errno=True)
    return lambda folder: fence_changes(libc, str(folder))


def _refuse_strays() -> None:
    """Refuse a file that started a thread or a process: those would run unseen beside the functions."""
    if list_children() or _count_threads() > 1:
        problem = SkillProblem(
            None, "loading the file started a thread or a process", "start nothing outside of a function"
        )
        raise RefusedSkillError(problem)


def _count_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return threading.active_count()


class _BrokerHttpClient:
    """Replaces the SDK's HTTP client, which would look for a network that does not exist."""

    def send(self, request: httpx.Request) -> httpx.Response:
        return door.http().send(request)


def _make_call_handler(
    order: ServeOrder, loaded: LoadedSkill, attempts: Attempts, limits: Limits
) -> Callable[[socket.socket], None]:
    app = flask.Flask("skill")
    inngest.flask.serve(app, loaded.client, loaded.functions, serve_path=f"/api/inngest/{order.stem}")
    loaded.client._http_client._http_client_sync = _BrokerHttpClient()  # type: ignore[assignment]

    def set_run_id(run_id: str) -> None:
        door.run_id = run_id

    return lambda connection: answer_run_call(connection, app, set_run_id, attempts, limits.cpu_seconds)


def _take_stdout() -> IO[str]:
    """Keep standard output for answers to the sidecar; what the skill prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _write_answer(answers: IO[str], answer: ChildAnswer) -> None:
    answers.write(answer.model_dump_json() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
