"""A run ends on the code it began with, whatever happens to the file and to the processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = pytest.mark.kill

SLEEPER = '''"""Sleeps between two steps and writes what it did."""
from pathlib import Path
import inngest
from skills.kit import client

MANIFEST = {{"title": "Sleeper", "purpose": "sleeps", "permissions": {{"events": {{"listen": ["{event}"]}}}}}}
VERSION = "{version}"

def note(what: str) -> str:
    with Path("{diary}").open("a") as diary:
        diary.write(f"{{what}} {{VERSION}}\\n")
    return VERSION

@client.create_function(fn_id="nap", trigger=inngest.TriggerEvent(event="{event}"), retries=5)
def nap(ctx: inngest.ContextSync) -> object:
    first = ctx.step.run("first", lambda: note("first"))
{extra}
    ctx.step.sleep("nap", {seconds} * 1000)
    return [first, ctx.step.run("{last}", lambda: note("{last}"))]
'''


def sleeper(diary: Path, version: str, last: str = "last", extra: str = "", seconds: int = 4) -> str:
    """Its event is named for the diary's folder, which is the test's own."""
    diary.touch()
    event = f"{diary.parent.name}/asked"
    return SLEEPER.format(diary=diary, version=version, last=last, extra=extra, seconds=seconds, event=event)


def test_a_sleeping_run_ends_on_its_version_and_a_new_one_on_the_new(skills: RunningSidecar, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    skills.save("pinned", sleeper(diary, "v1"))
    skills.live("pinned", 1)
    skills.ask(f"{tmp_path.name}/asked")
    until("the first step", lambda: diary.read_text() == "first v1\n")
    # A step is added and another renamed: a run that mixed the two would repeat or lose one.
    skills.save("pinned", sleeper(diary, "v2", "final", '    ctx.step.run("extra", lambda: note("extra"))'))
    skills.live("pinned", 2)
    assert len(skills.children()) >= 2
    skills.ask(f"{tmp_path.name}/asked")
    assert skills.outputs("skill-pinned/nap", 2) == [["v1", "v1"], ["v2", "v2"]]
    assert sorted(diary.read_text().splitlines()) == ["extra v2", "final v2", "first v1", "first v2", "last v1"]
    until("only the living version and the spare", lambda: len(skills.children()) == 2)


def test_a_run_outlives_its_file_and_its_process(skills: RunningSidecar, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    skills.save("outlives", sleeper(diary, "v1"))
    skills.live("outlives", 1)
    skills.ask(f"{tmp_path.name}/asked")
    until("the first step", lambda: diary.read_text() == "first v1\n")
    (skills.folder / "outlives.py").unlink()
    until("retirement", lambda: skills.skill("outlives")["status"] == "retired")
    for child in skills.children():
        os.kill(child, signal.SIGKILL)
    assert skills.outputs("skill-outlives/nap", 1) == [["v1", "v1"]]


def test_the_sidecar_is_killed_and_everything_comes_back(any_engine: RunningEngine, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    with sidecar(any_engine, tmp_path / "home") as skills:
        skills.save("comes_back", sleeper(diary, "v1"))
        skills.save("woken", hello(1, "woken/asked"))
        skills.live("woken", 1)
        skills.live("comes_back", 1)
        skills.ask(f"{tmp_path.name}/asked")
        until("the first step", lambda: diary.read_text() == "first v1\n")
        skills.save("comes_back", sleeper(diary, "v2"))
        skills.live("comes_back", 2)
        orphans = skills.children()
        assert len(orphans) >= 3
        skills.kill()
        until("no child left", lambda: not [pid for pid in orphans if Path(f"/proc/{pid}").exists()], 10)

        # Meanwhile one is broken, and one is gone.
        skills.save("woken", "def broken(:\n")
        skills.start()
        greeter = until("the broken save told", lambda: skills.skill("woken").get("problems", []))
        assert "invalid syntax" in greeter[0]["reason"]
        assert (skills.skill("woken")["status"], skills.skill("woken")["version"]) == ("active", 1)
        assert skills.skill("comes_back")["version"] == 2
        assert skills.outputs("skill-comes_back/nap", 1) == [["v1", "v1"]]
        assert diary.read_text() == "first v1\nlast v1\n"
        skills.ask("woken/asked")
        assert skills.outputs("skill-woken/hello", 1) == [1]


def test_a_killed_child_is_started_again_and_its_step_runs_again(skills: RunningSidecar, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    slow = sleeper(diary, "v1", seconds=1).replace("    first = ctx", '    ctx.step.run("slow", slow)\n    first = ctx')
    slow = slow.replace(
        "@client", "def slow() -> None:\n    import time\n    note('slow')\n    time.sleep(2)\n\n@client"
    )
    skills.save("restarted", slow)
    skills.live("restarted", 1)
    skills.ask(f"{tmp_path.name}/asked")
    until("the slow step begun", lambda: "slow" in diary.read_text())
    for child in skills.children():
        os.kill(child, signal.SIGKILL)
    assert skills.outputs("skill-restarted/nap", 1) == [["v1", "v1"]]
    assert diary.read_text().splitlines() == ["slow v1", "slow v1", "first v1", "last v1"]


def test_an_idle_child_that_dies_is_started_again(skills: RunningSidecar) -> None:
    skills.save("idle", hello(1, "idle/asked"))
    skills.live("idle", 1)
    until("a child and a spare", lambda: len(skills.children()) >= 2)
    before = set(skills.children())
    for child in before:
        os.kill(child, signal.SIGKILL)
    until("others in their place", lambda: len(set(skills.children()) - before) >= 2, 15)
    skills.ask("idle/asked")
    assert skills.outputs("skill-idle/hello", 1) == [1]


def test_a_spinning_skill_delays_no_other(skills: RunningSidecar) -> None:
    skills.save("spinner", hello(1, "spin/asked").replace("lambda: VALUE", "lambda: sum(1 for _ in iter(int, 1))"))
    skills.save("brisk", hello(1, "brisk/asked"))
    skills.live("spinner", 1)
    skills.live("brisk", 1)
    skills.ask("spin/asked")
    time.sleep(0.5)
    began = time.monotonic()
    skills.ask("brisk/asked")
    assert skills.outputs("skill-brisk/hello", 1) == [1]
    assert time.monotonic() - began < 15
    skills.kill()
    skills.start()
