"""A run ends on the code it began with, whatever happens to the file and to the processes."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skills.book import runs, versions
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = pytest.mark.kill

SLEEPER = '''"""Sleeps between two steps and says what it did."""
import inngest
from skills.kit import client

MANIFEST = {{"title": "Sleeper", "purpose": "sleeps", "permissions": {{"events": {{"listen": ["{event}"]}}}}}}
VERSION = "{version}"

def note(what: str) -> str:
    print("diary", what, VERSION, flush=True)
    return VERSION

@client.create_function(fn_id="nap", trigger=inngest.TriggerEvent(event="{event}"), retries=20)
def nap(ctx: inngest.ContextSync) -> object:
    first = ctx.step.run("first", lambda: note("first"))
{extra}
    ctx.step.sleep("nap", {seconds} * 1000)
    return [first, ctx.step.run("{last}", lambda: note("{last}"))]
'''


def sleeper(event: str, version: str, last: str = "last", extra: str = "", seconds: int = 4) -> str:
    return SLEEPER.format(version=version, last=last, extra=extra, seconds=seconds, event=event)


def diary(skills: RunningSidecar, stem: str) -> list[str]:
    """What the skill said it did, in the order of the sidecar's log."""
    return re.findall(rf"skill {stem}: diary (.+)", skills.log)


def begun(skills: RunningSidecar, stem: str) -> None:
    skills.ask(f"{stem}/asked")
    until("the first step", lambda: "first v1" in diary(skills, stem))


@pytest.mark.boundary(61)
def test_a_sleeping_run_ends_on_its_version_and_a_new_one_on_the_new(skills: RunningSidecar) -> None:
    skills.save("pinned", sleeper("pinned/asked", "v1"))
    skills.live("pinned", 1)
    begun(skills, "pinned")
    # A step is added and another renamed: a run that mixed the two would repeat or lose one.
    extra = '    ctx.step.run("extra", lambda: note("extra"))'
    skills.save("pinned", sleeper("pinned/asked", "v2", "final", extra))
    skills.live("pinned", 2)
    skills.ask("pinned/asked")
    assert skills.outputs("skill-pinned/nap", 2) == [["v1", "v1"], ["v2", "v2"]]
    assert sorted(diary(skills, "pinned")) == ["extra v2", "final v2", "first v1", "first v2", "last v1"]
    with skills.reading() as scope:
        by_version = {run.version_id: run.status for run in runs.list_skill_runs(scope, "pinned")}
        numbers = {versions.get_version(scope, version_id).number: status for version_id, status in by_version.items()}
    assert numbers == {1: "completed", 2: "completed"}


EDITS: dict[str, Callable[[str], str] | None] = {
    "inserted": lambda event: sleeper(event, "v2", extra='    ctx.step.run("more", lambda: note("more"))'),
    "removed": lambda event: sleeper(event, "v2").replace('ctx.step.run("first", lambda: note("first"))', "0"),
    "renamed": lambda event: sleeper(event, "v2", "final"),
    "deleted": None,
}


@pytest.mark.case("B23")
def test_a_sleeping_run_ends_on_the_code_it_began_with_whatever_is_edited(skills: RunningSidecar) -> None:
    for name in EDITS:
        skills.save(f"edited_{name}", sleeper(f"edited_{name}/asked", "v1", seconds=6))
    for name in EDITS:
        skills.live(f"edited_{name}", 1)
        begun(skills, f"edited_{name}")
    for name, edit in EDITS.items():
        stem = f"edited_{name}"
        if edit is None:
            (skills.folder / f"{stem}.py").unlink()
            until("retirement", lambda: skills.skill("edited_deleted")["status"] == "retired")
        else:
            skills.save(stem, edit(f"{stem}/asked"))
            skills.live(stem, 2)
            skills.ask(f"{stem}/asked")
    for name, edit in EDITS.items():
        outputs = skills.outputs(f"skill-edited_{name}/nap", 1 if edit is None else 2)
        assert outputs[0] == ["v1", "v1"], name
        assert [line for line in diary(skills, f"edited_{name}") if line.endswith("v1")] == ["first v1", "last v1"], (
            name
        )
        if edit is not None:
            assert outputs[1] == [0 if name == "removed" else "v2", "v2"], name


def test_a_run_outlives_its_file_and_its_process(skills: RunningSidecar) -> None:
    skills.save("outlives", sleeper("outlives/asked", "v1"))
    skills.live("outlives", 1)
    begun(skills, "outlives")
    (skills.folder / "outlives.py").unlink()
    until("retirement", lambda: skills.skill("outlives")["status"] == "retired")
    for child in skills.children():
        os.kill(child, signal.SIGKILL)
    assert skills.outputs("skill-outlives/nap", 1) == [["v1", "v1"]]


def test_the_sidecar_is_killed_and_everything_comes_back(any_engine: RunningEngine, tmp_path: Path) -> None:
    with sidecar(any_engine, tmp_path / "home") as skills:
        skills.save("comes_back", sleeper("comes_back/asked", "v1"))
        skills.save("woken", hello(1, "woken/asked"))
        skills.live("woken", 1)
        skills.live("comes_back", 1)
        begun(skills, "comes_back")
        skills.save("comes_back", sleeper("comes_back/asked", "v2"))
        skills.live("comes_back", 2)
        orphans = skills.children()
        assert len(orphans) >= 3
        skills.kill()
        until("no child left", lambda: not [pid for pid in orphans if Path(f"/proc/{pid}").exists()], 10)

        # Meanwhile one is broken.
        skills.save("woken", "def broken(:\n")
        skills.start()
        problems = until("the broken save told", lambda: skills.skill("woken").get("problems", []))
        assert "invalid syntax" in problems[0]["reason"]
        assert (skills.skill("woken")["status"], skills.skill("woken")["version"]) == ("active", 1)
        assert skills.skill("comes_back")["version"] == 2
        assert skills.outputs("skill-comes_back/nap", 1) == [["v1", "v1"]]
        assert diary(skills, "comes_back") == ["first v1", "last v1"]
        skills.ask("woken/asked")
        assert skills.outputs("skill-woken/hello", 1) == [1]


def test_a_killed_child_is_started_again_and_its_step_runs_again(skills: RunningSidecar) -> None:
    text = sleeper("restarted/asked", "v1", seconds=1)
    text = text.replace("    first = ctx", '    ctx.step.run("slow", slow)\n    first = ctx')
    slow = 'def slow() -> None:\n    note("slow")\n    time.sleep(2)\n\n@client'
    skills.save(
        "restarted", text.replace("@client", slow, 1).replace("import inngest", "import time\nimport inngest", 1)
    )
    skills.live("restarted", 1)
    skills.ask("restarted/asked")
    until("the slow step begun", lambda: diary(skills, "restarted"))
    for child in skills.children():
        os.kill(child, signal.SIGKILL)
    assert skills.outputs("skill-restarted/nap", 1) == [["v1", "v1"]]
    assert diary(skills, "restarted") == ["slow v1", "slow v1", "first v1", "last v1"]


def test_an_idle_child_that_died_comes_back_with_the_next_call(skills: RunningSidecar) -> None:
    skills.save("idle", hello(1, "idle/asked"))
    skills.live("idle", 1)
    until("a child and a spare", lambda: len(skills.children()) >= 2)
    for child in skills.children():
        os.kill(child, signal.SIGKILL)
    skills.ask("idle/asked")
    assert skills.outputs("skill-idle/hello", 1) == [1]


def test_a_spinning_skill_delays_no_other(skills: RunningSidecar) -> None:
    skills.save("spinner", hello(1, "spin/asked").replace("lambda: VALUE", "lambda: sum(1 for _ in iter(int, 1))"))
    skills.save("brisk", hello(1, "brisk/asked"))
    skills.live("spinner", 1)
    skills.live("brisk", 1)
    skills.ask("spin/asked")
    time.sleep(0.5)
    skills.ask("brisk/asked")
    assert skills.outputs("skill-brisk/hello", 1, 15) == [1]
    skills.kill()
    skills.start()
