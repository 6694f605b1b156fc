"""However many workers and copies are started, there is one scheduler and one watch."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from app.bootstrap import ensure_home
from app.supervision.ports import free_ports
from core.orchestrator.engine import bearer_of_key
from core.settings import load_settings
from runtime.turns import lease
from tests.runtime.turn_driver import LEASE, get_turn, new_task, newest_turn, post_words
from tests.support.databases import Store
from tests.support.engines import EVENT_KEY, SIGNING_KEY, moved_by_tests, running
from tests.support.environment import without_settings
from tests.support.sidecar import sidecar
from tests.support.template import COMMAND
from tests.support.waiting import until

MINUTELY = '''"""Notes each minute."""
import inngest
from skills.kit import client

MANIFEST = {"title": "Minutely", "purpose": "notes each minute", "permissions": {}}

@client.create_function(fn_id="note", trigger=inngest.TriggerCron(cron="* * * * *"))
def note(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("note", lambda: 1)
'''
WORKERS = 4


@pytest.mark.case("B15")
def test_importing_the_web_starts_no_thread() -> None:
    counted = "import threading, app.web, app.processes.web, app.processes.worker; print(threading.active_count())"
    done = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["1"]


@pytest.mark.case("B15")
@pytest.mark.load
def test_each_minute_runs_once_with_four_web_workers_and_a_second_copy(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "engine"
    home.mkdir()
    folder.mkdir()
    with ExitStack() as stack:
        engine = stack.enter_context(running(moved_by_tests(folder)))
        shown = {"authorization": bearer_of_key(SIGNING_KEY)}
        clock = f"{engine.url}/test/clock"
        ports = dict(zip(("web", "copy-web", "worker", "copy-worker", "model", "sidecar"), free_ports(6), strict=True))
        env = {
            "LOOPWRIGHT_HOME": str(home),
            "LOOPWRIGHT_CLOCK_URL": clock,
            "INNGEST_DEV": "0",
            "INNGEST_BASE_URL": engine.url,
            "INNGEST_SIGNING_KEY": SIGNING_KEY,
            "INNGEST_EVENT_KEY": EVENT_KEY,
            # Nothing is generated here.
            "LOOPWRIGHT_JOBS_URL": "http://127.0.0.1:9",
            "LOOPWRIGHT_JOBS_KEY": "unused",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{ports['model']}/v1",
        }

        def advance(minutes: int) -> None:
            moved = httpx.post(clock, json={"advance": f"{minutes}m"}, headers=shown, timeout=120)
            moved.raise_for_status()

        def minute() -> datetime:
            """The engine's minute: its clock also runs by itself."""
            told = httpx.get(clock, headers=shown, timeout=30).raise_for_status().json()["now"]
            return datetime.fromisoformat(told).replace(second=0, microsecond=0)

        def once_a_minute(since: datetime, already: int) -> bool:
            """Whether each minute that began since then had one run; asked between two equal looks at the clock."""
            before, ran = minute(), len(skills.runs("skill-minutely/note")) - already
            return minute() == before and ran == (before - since).total_seconds() / 60

        # Given a web of four workers, a second copy of web and worker, and a sidecar with a skill of every minute
        subprocess.run([*COMMAND, "migrate"], env={**without_settings(), **env}, check=True, capture_output=True)
        ensure_home(load_settings(home=home))
        store = Store(f"sqlite:///{home / 'loopwright.sqlite'}")
        stack.callback(store.database.close)
        skills = stack.enter_context(sidecar(engine, home, {"LOOPWRIGHT_CLOCK_URL": clock}))
        skills.save("minutely", MINUTELY)
        skills.live("minutely", 1, 120)
        web = _gunicorn(stack, ports["web"], env, tmp_path)
        for name in ("model", "worker", "copy-web", "copy-worker"):
            _serve(stack, name.removeprefix("copy-"), ports[name], env, tmp_path)
        for name in ("web", "copy-web", "worker", "copy-worker"):
            until(name, lambda name=name: _is_ready(ports[name]), 120)  # type: ignore[misc]
        # And a turn whose run was lost with its lease, long ago
        turn_id = _stalled_turn(store)
        # When five minutes pass
        since, already = minute(), len(skills.runs("skill-minutely/note"))
        advance(5)
        # Then the skill ran once in each, and the turn was taken over once
        until("a run a minute", lambda: once_a_minute(since, already), 60)
        until("the turn's end", lambda: _turn(store, turn_id)[0] != "running", 60)
        assert _turn(store, turn_id) == ("completed", 2)
        # When the workers are told to reload, then the next minutes run once too
        before = _children(web)
        web.send_signal(signal.SIGHUP)
        until("new workers", lambda: len(_children(web)) == WORKERS and not before & _children(web), 60)
        until("the web", lambda: _is_ready(ports["web"]), 60)
        advance(2)
        until("a run a minute", lambda: once_a_minute(since, already), 60)
        time.sleep(2)
        until("still a run a minute", lambda: once_a_minute(since, already), 20)


def _serve(stack: ExitStack, name: str, port: int, env: Mapping[str, str], folder: Path) -> None:
    _begin(stack, [*COMMAND, "serve", name, "--port", str(port)], env, folder / f"{name}-{port}.log")


def _gunicorn(stack: ExitStack, port: int, env: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gunicorn", "-k", "gthread", "--threads", "8", "-w", str(WORKERS)]
    command += ["-b", f"127.0.0.1:{port}", "--no-control-socket", "tests.support.web_application:make()"]
    return _begin(stack, command, env, folder / "web-of-four.log")


def _begin(stack: ExitStack, command: list[str], env: Mapping[str, str], path: Path) -> subprocess.Popen[bytes]:
    log = stack.enter_context(path.open("wb"))
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(command, cwd=root, env={**without_settings(), **env}, stdout=log, stderr=log)
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _children(process: subprocess.Popen[bytes]) -> set[int]:
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return {int(pid) for pid in listing.split()}


def _stalled_turn(store: Store) -> str:
    """Its time is the store's, months before the engine's."""
    task = new_task(store)
    post_words(store, task.id, "Hello.")
    turn_id = newest_turn(store, task.id).id
    with store.database.transaction(store.workspace_id) as scope:
        assert lease.enter_turn(scope, turn_id, "a run that was lost", LEASE)
    with store.database.transaction(store.workspace_id) as scope:
        lease.take_lease(scope, turn_id, "a run that was lost", LEASE)
    return turn_id


def _turn(store: Store, turn_id: str) -> tuple[str, int]:
    """Status and epoch."""
    found = get_turn(store, turn_id)
    return found.status, found.epoch
