"""Count the files of the repository that one message passes through: `python -m tests.bench.trace_message [--json]`.

Start the product in a temporary home, order three posters, and follow the process that runs the agent's functions until
they are made. A file is entered when one of its functions is called. A call counts when the caller and the function
called are both in the repository; it is a crossing when they are in different files. Code that only runs on import is
left out, and so are health checks, registration and the watch, which run without a message too.

The script relies on published names only (ids of functions and steps, the HTTP API), so that it measures a checkout
before and after its files move. Run it from the root of that checkout, or name the root with `--root`.
"""

from __future__ import annotations

import argparse
import contextlib
import dis
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

T = TypeVar("T")
ORDER = "Make me a set of three retro posters for the Harbour Festival, navy and cream."
WORKER_FILE = "functions/run_turn.py"
"""File that only the worker enters."""
WATCH = "watch"
ALL = "until all runs end"
"""The row to compare by: whether the memory has read the message before the posters are made is a matter of luck."""
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)/\?token=([\w.~-]+)")
_SETTINGS = ("LOOPWRIGHT_", "INNGEST_", "OPENAI_")
_RESET = 1
_REST_SECONDS = 3.0
_SITECUSTOMIZE = """\
import importlib.util
import sys
spec = importlib.util.spec_from_file_location("_trace_message", {script!r})
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
module.Recorder({root!r}, {folder!r}).install()
"""


# Inside the processes of the product


@dataclass
class Tally:
    """The files entered, the calls within the repository, and how often each pair of files calls across."""

    files: set[str] = field(default_factory=set)
    calls: int = 0
    crossings: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, caller: str | None, place: str) -> None:
        self.files.add(place)
        if caller:
            self.calls += 1
            if caller != place:
                self.crossings[caller, place] += 1

    def add(self, other: Tally) -> None:
        self.files |= other.files.copy()
        self.calls += other.calls
        self.crossings.update(other.crossings.copy())


@dataclass
class Work(Tally):
    """The calls of one request, or of one thread that a request started.

    `frame` is the server's frame until its `environ` has been read. `step` holds the calls since the step `step_id` was
    reached. A request runs the last step it reaches; the earlier ones are memoized.
    """

    function: str = ""
    frame: FrameType | None = None
    step_id: str = ""
    step: Tally | None = None


class Recorder:
    """Counter of the calls in one process, which writes the counts when the file `ask` in the folder changes.

    It starts a thread to watch that file with the first request, because the supervisor forks and must have one thread.
    """

    def __init__(self, root: str, folder: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self._folder = Path(folder)
        self._places: dict[str, str] = {}
        self._hooks: dict[str, Callable[[FrameType, CodeType], None]] = {}
        self._first: dict[CodeType, int] = {}
        self._thread = threading.local()
        self._started: dict[threading.Thread, str] = {}
        self._works: list[Work] = []
        self._listens_in = 0

    def install(self) -> None:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        filename = code.co_filename
        place = self._places.get(filename)
        if place is None:
            place = self._place(filename)
        if not place:
            if filename in self._hooks:
                self._hooks[filename](frame, code)
            return
        if not self._is_call(frame, code):
            return
        work = self._current()
        back = frame.f_back
        caller = None if back is None else self._places.get(back.f_code.co_filename)
        work.count(caller, place)
        if work.step is not None:
            work.step.count(caller, place)

    def _place(self, filename: str) -> str:
        """Return the file's name below the root, or an empty string for a file outside the repository."""
        real = os.path.realpath(filename)
        name = real.removeprefix(self._root)
        ours = real.startswith(self._root) and not name.startswith(("tests/", ".")) and "/." not in name
        # The hooks know the file by the name that its code objects have.
        if real == os.path.realpath(threading.__file__):
            self._hooks[filename] = self._at_threading
        elif real.endswith("/gunicorn/workers/gthread.py"):
            self._hooks[filename] = self._at_server
        elif real.endswith("/inngest/_internal/step_lib/step_sync.py"):
            self._hooks[filename] = self._at_step
        return self._places.setdefault(filename, name if ours else "")

    def _is_call(self, frame: FrameType, code: CodeType) -> bool:
        """Return whether a function is called: not a module or class body, a comprehension, or a resumed generator."""
        flags = code.co_flags
        if not flags & 1 or code.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"):
            return False
        # Generators, coroutines and asynchronous generators.
        if not flags & 0x2A0:
            return True
        if code not in self._first:
            resumes = (one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")
            self._first[code] = next(resumes, 0)
        return frame.f_lasti <= self._first[code]

    def _current(self) -> Work:
        """Return the work of this thread, with the id of the function that the request calls."""
        work: Work | None = getattr(self._thread, "work", None)
        if work is None:
            work = self._begin(Work(function=self._started.pop(threading.current_thread(), "")))
        if work.frame is not None:
            query = (work.frame.f_locals.get("environ") or {}).get("QUERY_STRING", "")
            work.function = parse_qs(query).get("fnId", [""])[0]
            work.frame = None
        return work

    def _begin(self, work: Work) -> Work:
        self._thread.work = work
        self._works.append(work)
        return work

    def _at_server(self, frame: FrameType, code: CodeType) -> None:
        """Begin the work of a request."""
        if code.co_name == "handle_request":
            self._begin(Work(frame=frame))
            if self._listens_in != os.getpid():
                self._listens_in = os.getpid()
                threading.Thread(target=self._listen, name="trace", daemon=True).start()

    def _at_step(self, frame: FrameType, code: CodeType) -> None:
        """Begin the tally of a step."""
        if code.co_name == "run":
            work = self._current()
            work.step_id, work.step = str(frame.f_locals.get("step_id")), Tally()

    def _at_threading(self, frame: FrameType, code: CodeType) -> None:
        """Count a thread that a request starts to the same function."""
        if code is threading.Thread.start.__code__:
            work: Work | None = getattr(self._thread, "work", None)
            if work is not None and work.function:
                self._started[frame.f_locals["self"]] = work.function

    def _listen(self) -> None:
        sys.setprofile(None)
        me, seen = os.getpid(), 0
        _write(self._folder / f"here-{me}", str(me))
        while True:
            time.sleep(0.05)
            with contextlib.suppress(OSError):
                asked = int((self._folder / "ask").read_text())
                if asked != seen:
                    seen = asked
                    if asked == _RESET:
                        self._works = []
                    _write(self._folder / f"answer-{asked}-{me}", json.dumps([_as_json(one) for one in [*self._works]]))


def _as_json(work: Work) -> dict[str, Any]:
    step = None if work.step is None else {"id": work.step_id, **_tally_json(work.step)}
    return {"function": work.function, "step": step, **_tally_json(work)}


def _tally_json(tally: Tally) -> dict[str, Any]:
    crossings = [[*pair, times] for pair, times in tally.crossings.copy().items()]
    return {"files": sorted(tally.files.copy()), "calls": tally.calls, "crossings": crossings}


def _tally_of(stored: Mapping[str, Any]) -> Tally:
    crossings = {(caller, place): times for caller, place, times in stored["crossings"]}
    return Tally(set(stored["files"]), stored["calls"], Counter(crossings))


def _write(path: Path, text: str) -> None:
    """Write the file so that nobody reads half of it."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.replace(path)


# Beside the product


class Product:
    """Running product whose processes record their calls."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._home = folder / "home"
        self._answers = folder / "answers"
        self._output = folder / "up.out"
        self._opener: OpenerDirector = build_opener(ProxyHandler({}))
        probe = folder / "probe"
        for one in (self._home, self._answers, probe):
            one.mkdir()
        script = _SITECUSTOMIZE.format(script=str(Path(__file__).resolve()), root=str(root), folder=str(self._answers))
        (probe / "sitecustomize.py").write_text(script)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
        self._env = {**kept, "PYTHONPATH": os.pathsep.join([str(probe), str(root)])}
        own = root / ".venv" / "bin" / "python"
        self._python = str(own) if own.exists() else sys.executable
        self._asked = 0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start everything, wait until all of it is ready, and stop it in the end."""
        arguments = ["up", "--home", str(self._home), "--port", "0"]
        command = [self._python, "-P", "-m", "app.cli", *arguments]
        with self._output.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=self._env, cwd=self._home, start_new_session=True
            )
        try:
            _until("the address", lambda: _ADDRESS.search(self._said) or process.poll() is not None, 180)
            found = _ADDRESS.search(self._said)
            if found is None:
                raise SystemExit(f"`loopwright up` did not start:\n{self._said}")
            self._url, self._token = found.groups()
            _until("all processes", self._all_run, 180)
            yield
        finally:
            _stop(process)

    @property
    def _said(self) -> str:
        return self._output.read_text(errors="replace")

    def _all_run(self) -> bool:
        command = [self._python, "-P", "-m", "app.cli", "ps", "--home", str(self._home), "--json"]
        env = {**self._env, "PYTHONPATH": str(self._root)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        states = re.findall(r'"state": *"(\w+)"', done.stdout)
        return bool(states) and set(states) == {"running"}

    def request(self, path: str, body: object = None, **query: str) -> Any:
        """Return the API's answer; with a body it is a POST."""
        address = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with self._opener.open(Request(address, data, headers), timeout=60) as answer:
            return json.load(answer)

    def ask(self) -> list[list[dict[str, Any]]]:
        """Return the counts of each process. The first question sets them to zero."""
        self._asked += 1
        _write(self._answers / "ask", str(self._asked))

        def answered() -> list[Path] | None:
            pids = [path.read_text() for path in self._answers.glob("here-*")]
            paths = [self._answers / f"answer-{self._asked}-{pid}" for pid in pids]
            return paths if paths and all(path.exists() for path in paths) else None

        return [json.loads(path.read_text()) for path in _until("the counts", answered, 60)]

    def order(self) -> None:
        """Post the message, and wait until its task is done."""
        message_id = self.request("/api/v1/messages", {"text": ORDER})["message_id"]
        task_id = _until("the route", lambda: _task_of(self.request(f"/api/v1/messages/{message_id}")), 180)
        _until("the posters", lambda: self.request(f"/api/v1/tasks/{task_id}")["status"] == "done", 300)

    def rest(self) -> None:
        """Wait until no run but the watch's has been open for some seconds."""
        busy = time.monotonic()
        while time.monotonic() - busy < _REST_SECONDS:
            time.sleep(0.2)
            if any(self._open_runs(status) for status in ("queued", "running")):
                busy = time.monotonic()

    def _open_runs(self, status: str) -> list[Any]:
        runs = self.request("/api/v1/runs", status=status)["items"]
        return [run for run in runs if run["function"].rpartition("/")[2] != WATCH]


def _task_of(message: Mapping[str, Any]) -> str | None:
    return (message.get("route") or {}).get("task_id")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def _until(what: str, look: Callable[[], T | None], seconds: float) -> T:
    deadline = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come within {seconds:.0f} seconds")
        time.sleep(0.1)
    return found


# The report


def measure(root: Path) -> dict[str, Tally]:
    """Trace one message in the checkout at `root` and return the tallies by name, in the order of the table."""
    with tempfile.TemporaryDirectory(prefix="trace-", ignore_cleanup_errors=True) as folder:
        product = Product(root, Path(folder))
        with product.running():
            product.ask()
            product.order()
            made = _worker(product.ask())
            product.rest()
            rested = _worker(product.ask())
    found = {ALL: _sum(rested), "until the posters": _sum(made)}
    for name in sorted({one["function"] for one in rested}):
        found[name] = _sum(one for one in rested if one["function"] == name)
    for one in rested:
        if one["step"] is not None and one["step"]["id"].startswith("decide-"):
            found[_unused(f"step {one['step']['id']}", found)] = _tally_of(one["step"])
    return found


def _worker(processes: Iterable[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the work of the worker for all functions but the watch."""
    for works in processes:
        if any(WORKER_FILE in one["files"] for one in works):
            return [one for one in works if one["function"] and not one["function"].endswith(f"-{WATCH}")]
    raise SystemExit(f"no process has entered {WORKER_FILE}")


def _sum(works: Iterable[Mapping[str, Any]]) -> Tally:
    total = Tally()
    for one in works:
        total.add(_tally_of(one))
    return total


def _unused(name: str, found: Mapping[str, Tally]) -> str:
    """Return the name, with a number if the table has that name already."""
    names = [name, *(f"{name} ({n})" for n in range(2, 100))]
    return next(one for one in names if one not in found)


def folders(files: Iterable[str]) -> dict[str, int]:
    """Return the number of files by folder."""
    return dict(sorted(Counter(str(Path(name).parent) for name in files).items()))


def report(found: Mapping[str, Tally]) -> dict[str, Any]:
    """Return the figures, ready for JSON; `arrows` is the number of pairs of files that call across."""
    return {
        name: {
            "files": len(tally.files),
            "crossings": tally.crossings.total(),
            "calls": tally.calls,
            "arrows": len(tally.crossings),
            "folders": folders(tally.files),
            "names": sorted(tally.files),
        }
        for name, tally in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.trace_message", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout to measure; by default this folder")
    parser.add_argument("--files", action="store_true", help="list the files entered as well")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of tables")
    options = parser.parse_args(arguments)
    rows = report(measure(options.root.resolve()))
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'':<32}{'files':>8}{'crossings':>11}{'calls':>8}{'arrows':>8}")
    for name, row in rows.items():
        print(f"{name:<32}{row['files']:>8}{row['crossings']:>11}{row['calls']:>8}{row['arrows']:>8}")
    print(f"\nFiles entered {ALL}, by folder")
    for folder, number in rows[ALL]["folders"].items():
        print(f"{folder:<32}{number:>8}")
    if options.files:
        print("", *rows[ALL]["names"], sep="\n")


if __name__ == "__main__":
    main()
