"""Ordered faults, applied to the studio's answers."""

import json
import socket
import sqlite3
import time

from flask import Request, Response

from standins.fault import Fault
from standins.studio import faults
from standins.studio.problems import StudioProblem


def take_job_faults(db: sqlite3.Connection, kind: str) -> list[str]:
    """Return the faults of a new job: at most one of its making and one of its callbacks."""
    taken = (faults.take_studio_fault(db, kind, faults.IN_JOB), faults.take_studio_fault(db, kind, faults.IN_CALLBACKS))
    return [str(fault) for fault in taken if fault is not None]


def spoil_submission(fault: Fault | None, answer: Response, request: Request) -> Response:
    """Return the answer to a submit whose job is stored, spoiled by `fault`."""
    match fault:
        case Fault("drop_after_store"):
            _hang_up(request)
        case Fault("delay_reply", seconds):
            time.sleep(float(seconds))
        case Fault("error_after_store", status):
            return StudioProblem(int(status), "fault", "told to fail after the job was stored").response()
    return answer


def spoil_status(fault: Fault | None, answer: Response) -> Response:
    """Return the answer to a request for a job's state, spoiled by `fault`."""
    match fault:
        case Fault("html_status"):
            return Response("<!doctype html><title>One moment</title><p>Please wait.", mimetype="text/html")
        case Fault("unknown_state", word):
            shown = json.loads(answer.get_data()) | {"state": word or "REVIEWING", "outputs": [], "cost": None}
            return Response(json.dumps(shown), mimetype="application/json")
        case Fault("error_status", status):
            return StudioProblem(int(status), "fault", "told to fail").response()
        case Fault("error_body_status"):
            return Response('{"error": {"message": "upstream exploded"}}', mimetype="application/json")
        case Fault("lost_job"):
            return StudioProblem(404, "not_found", "no such job").response()
        case Fault("delay_status", seconds):
            time.sleep(float(seconds))
    return answer


def _hang_up(request: Request) -> None:
    """Close the caller's connection without an answer."""
    # Werkzeug and gunicorn hand out the socket in the environment, under different names.
    connection = request.environ.get("gunicorn.socket") or request.environ.get("werkzeug.socket")
    if not isinstance(connection, socket.socket):
        raise LookupError("this server does not hand out its sockets; drop_after_store needs gunicorn or werkzeug")
    connection.shutdown(socket.SHUT_RDWR)
