"""Load a skill file and find its functions, with an SDK client that was warmed up before the file is known."""

from __future__ import annotations

import json
import linecache
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import flask
import inngest
import inngest.flask

import skills.kit
from sidecar.child.call import call_app
from sidecar.child.ipc import CallHead, ServeOrder
from skills.format.problem import RefusedSkillError, SkillProblem
from skills.kit.door import door

# All requests of the SDK go to the broker, which ignores the host name.
BROKER_URL = "http://broker:80"
_WARM_UP_PATH = "/api/inngest/warming"
LOAD_SECONDS = 5.0
"""Seconds of processor time, since a busy machine is not the file's fault."""


def warm_client() -> inngest.Inngest:
    """Return a client after one call through the whole SDK, whose first call is ten times as slow."""
    # No signature is checked, since only the sidecar holds the other end of the socket that calls come from.
    client = inngest.Inngest(
        app_id="warming", is_production=False, event_key="skill", api_base_url=BROKER_URL, event_api_base_url=BROKER_URL
    )

    @client.create_function(fn_id="warming", trigger=inngest.TriggerEvent(event="warming/asked"))
    def warming(ctx: inngest.ContextSync) -> int:
        return ctx.step.run("warming", lambda: 1)

    app = flask.Flask("warming")
    inngest.flask.serve(app, client, [warming], serve_path=_WARM_UP_PATH)
    event = {"name": "warming/asked", "data": {}, "id": "1", "ts": 1}
    ctx = {"run_id": "1", "attempt": 0, "disable_immediate_execution": False, "stack": {"stack": []}}
    call = {"ctx": ctx, "event": event, "events": [event], "steps": {}, "use_api": False}
    head = CallHead(method="POST", path=_WARM_UP_PATH, query="fnId=warming-warming&stepId=step", headers={})
    call_app(app, head, json.dumps(call).encode())
    door.open_at("/run/warming.sock")
    door.http().build_request("POST", BROKER_URL, json={})
    return client


@dataclass(frozen=True)
class LoadedSkill:
    """The client and functions of a file, with their configurations as the SDK writes them."""

    client: inngest.Inngest
    functions: list[inngest.Function[Any]]
    configurations: list[dict[str, Any]]


def load_skill(order: ServeOrder, client: inngest.Inngest) -> LoadedSkill:
    """Run the file as a module with a unique name and find its functions; raises RefusedSkillError.

    The code is compiled from the order's bytes, so a cached compilation of an older save is never used.
    """
    client.app_id = order.app_id
    skills.kit.client = client
    module = ModuleType(f"loopwright_skill_{order.stem.replace('-', '_')}_{order.sha[:12]}")
    module.__file__ = order.path
    sys.modules[module.__name__] = module
    # Tracebacks show the lines of this version, whatever the file contains later.
    lines = order.source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[order.path] = (len(order.source), None, lines, order.path)
    try:
        with _limit_processor_time(LOAD_SECONDS):
            exec(compile(order.source, order.path, "exec"), module.__dict__)
        functions = _find_functions(module)
        return LoadedSkill(
            client, functions, [one for function in functions for one in _function_configurations(function)]
        )
    except RefusedSkillError:
        raise
    # The file may raise anything, or try to end the process; each is the file's fault, reported with its line.
    except BaseException as error:  # noqa: BLE001 - the boundary to foreign code
        raise RefusedSkillError(_load_problem(error, order.path)) from None


@contextmanager
def _limit_processor_time(seconds: float) -> Iterator[None]:
    """Raise TimeoutError once the block has used this much processor time, and again every second after that."""

    def raise_timeout(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"loading took more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, raise_timeout)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _function_configurations(function: inngest.Function[Any]) -> list[dict[str, Any]]:
    """Return the configuration of the function, and of its failure handler if it has one."""
    whole = function.get_config(BROKER_URL)
    found = []
    for one in (whole.main, whole.on_failure):
        if one is None:
            continue
        text = one.to_dict()
        if isinstance(text, Exception):
            raise RefusedSkillError(
                SkillProblem(None, f"{function.id}: {text}", "correct the arguments of create_function")
            )
        found.append(text)
    return found


def _find_functions(module: ModuleType) -> list[inngest.Function[Any]]:
    found: dict[int, inngest.Function[Any]] = {}
    for value in vars(module).values():
        if isinstance(value, inngest.Function):
            found[id(value)] = value
    functions = list(found.values())
    if not functions:
        raise RefusedSkillError(
            SkillProblem(None, "the file has no function", "decorate one with @client.create_function(…)")
        )
    ids = [function.id for function in functions]
    for duplicate in sorted({one for one in ids if ids.count(one) > 1}):
        raise RefusedSkillError(
            SkillProblem(None, f"two functions have the id {duplicate}", "give each an fn_id of its own")
        )
    for function in functions:
        if function.is_handler_async or function.is_on_failure_handler_async:
            raise RefusedSkillError(
                SkillProblem(None, f"{function.id} is async", "write it with `def` and ContextSync")
            )
    return functions


def _load_problem(error: BaseException, path: str) -> SkillProblem:
    if isinstance(error, SyntaxError) and error.filename == path:
        return SkillProblem(error.lineno, str(error.msg), "correct the syntax on this line")
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    match error:
        case ImportError():
            fix = "import only what is installed with Loopwright"
        case SystemExit() | KeyboardInterrupt():
            fix = "a skill file must not end its process"
        case _:
            fix = "loading the file must only define functions"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return SkillProblem(lines[-1] if lines else None, text[:500], fix)
