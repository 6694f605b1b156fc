"""`python -m sidecar.child FD PARENT`: serve one skill version on the listening socket FD until PARENT is gone."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import flask
import inngest.flask
from werkzeug.serving import WSGIRequestHandler, make_server

from core.parent_death import die_with, load_prctl
from sidecar.child.loading import load
from sidecar.child.order import Answer, Order
from skills.problem import RefusedSkillError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Quiet(WSGIRequestHandler):
    """Calls are counted where they come from."""

    def log(self, type: str, message: str, *args: Any) -> None:
        del type, message, args


def main() -> None:
    fd, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with(parent, load_prctl())
    # Ctrl-C goes to everybody at the terminal; when this process ends is the sidecar's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = _own_stdout()
    _say(answers, Answer(state="awake"))
    line = sys.stdin.readline()
    if not line:
        return
    order = Order.model_validate_json(line)
    try:
        client, functions = load(order, Path(order.snapshot).read_bytes())
        app = flask.Flask("skill")
        inngest.flask.serve(app, client, functions, serve_path=f"/api/inngest/{order.stem}")
    except RefusedSkillError as error:
        _say(answers, Answer(state="serving", problem=error.problems[0]))
        return
    server = make_server("unix://skill", 0, shielded(app), threaded=True, request_handler=Quiet, fd=fd)
    server.daemon_threads = True  # type: ignore[attr-defined] # the threaded server's
    os.close(fd)
    _say(answers, Answer(state="serving"))
    # Nobody asks it to stop: it is killed.
    server.serve_forever(poll_interval=3600)


def shielded(app: WSGIApplication) -> WSGIApplication:
    """`SystemExit` in a step passes through the SDK and Flask: it must end neither the answer nor the process."""

    def call(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            return app(environ, start_response)
        except BaseException as error:  # noqa: BLE001 - the boundary to foreign code
            said = {"code": "skill_raised", "name": type(error).__name__, "message": repr(error)[:500], "stack": None}
            body = json.dumps(said).encode()
            start_response("500 Internal Server Error", [("Content-Type", "application/json")])
            return [body]

    return call


def _own_stdout() -> IO[str]:
    """Keep the pipe to the sidecar for our answers; what the skill prints goes to the log."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _say(answers: IO[str], answer: Answer) -> None:
    answers.write(answer.model_dump_json() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
