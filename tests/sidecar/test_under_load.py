"""Fifty skills: others read and compile their files, then half of them are edited every second for two minutes, and
every other edit is broken."""

from __future__ import annotations

import compileall
import contextlib
import hashlib
import itertools
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skills.book import runs, skill, versions
from tests.bench.process_tree import tree, tree_ms
from tests.sidecar.broken_skills import BROKEN, OF_ANOTHER
from tests.sidecar.test_saving import WAYS
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello, sidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.load, pytest.mark.engines("embedded")]

SECONDS = 120
READ_SECONDS = 20
READINGS = 60
"""One a second for a minute, in a third of the time."""
NEARLY_IDLE = 0.03
"""Of a core over that minute, for all of the sidecar's processes."""
SKILLS = 50
EDITED = SKILLS // 2
TICKING = 3
CLASH = "a stem that is taken"
KINDS = (*BROKEN, CLASH)
SLOW = '''"""Takes its constant twice, some time apart."""
import datetime

import inngest
from skills.kit import client

MANIFEST = {{"title": "Slow", "purpose": "edits", "permissions": {{"events": {{"listen": ["{event}"]}}}}}}
VALUE = {value}


@client.create_function(fn_id="slow", trigger=inngest.TriggerEvent(event="{event}"), retries=2)
def slow(ctx: inngest.ContextSync) -> object:
    first = ctx.step.run("first", lambda: VALUE)
    ctx.step.sleep("between", datetime.timedelta(seconds=2))
    return [first, ctx.step.run("second", lambda: VALUE)]
'''
TICK = '''"""Every minute."""
import inngest
from skills.kit import client

MANIFEST = {"title": "Tick", "purpose": "every minute", "permissions": {}}


@client.create_function(fn_id="tick", trigger=inngest.TriggerCron(cron="* * * * *"), retries=0)
def tick(ctx: inngest.ContextSync) -> object:
    return ctx.step.run("tick", lambda: 1)
'''


@dataclass
class Told:
    """What was saved and asked, to be compared with what became of it."""

    good: dict[str, list[str]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)


def edited(n: int) -> str:
    return f"edited_{n}"


def steady(n: int) -> str:
    return f"steady_{n}"


@pytest.fixture(scope="module")
def skills(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    """With a folder of a person's, in which stems may be taken."""
    home = tmp_path_factory.mktemp("home")
    (home / "own").mkdir()
    with sidecar(any_engine, home, {"LOOPWRIGHT_SKILL_PATH": str(home / "own")}) as running:
        yield running


@pytest.fixture(scope="module")
def told(skills: RunningSidecar) -> Told:
    """Fifty live skills."""
    for n in range(TICKING):
        skills.save(f"tick_{n}", TICK)
    for n in range(SKILLS - EDITED - TICKING):
        skills.save(steady(n), hello(n, f"{steady(n)}/asked"))
    skills.save(f"{edited(0)}-more", hello(0, "more/asked"))
    told = Told()
    for n in range(EDITED):
        text = SLOW.format(value=0, event=f"{edited(n)}/asked")
        skills.save(edited(n), text)
        told.good[edited(n)] = [text]
    for stem in [f"tick_{n}" for n in range(TICKING)] + [steady(n) for n in range(SKILLS - EDITED - TICKING)]:
        skills.live(stem, 1, 120)
    for n in range(EDITED):
        skills.live(edited(n), 1, 120)
    skills.live(f"{edited(0)}-more", 1, 120)
    return told


@pytest.mark.case("B20")
def test_reading_compiling_and_linting_fifty_skills_reloads_nothing(skills: RunningSidecar, told: Told) -> None:
    until("what is shipped was looked at", lambda: shipped_looked_at(skills), 60)
    before, mark, began, cpu = skills.log, mark_of(skills), time.monotonic(), tree_ms(skills.pid)
    for reading in range(READINGS):
        for file in skills.folder.glob("*.py"):
            file.read_bytes()
        (skills.folder / ".steady_0.py.swp").write_text(hello(9))
        (skills.folder / "steady_0.py~").write_text(hello(9))
        if reading % 6 == 0:
            assert compileall.compile_dir(skills.folder, force=True, quiet=2)
            lint = [sys.executable, "-m", "ruff", "check", "--isolated", "-q", str(skills.folder)]
            linted = subprocess.run(lint, stdout=subprocess.DEVNULL, check=False)
            assert linted.returncode in (0, 1)
        time.sleep(max(0.0, began + (reading + 1) * READ_SECONDS / READINGS - time.monotonic()))
    # What the readings took of the processor, all of it, against the minute they stand for.
    share = (tree_ms(skills.pid) - cpu) / 1000 / READINGS

    assert skills.log == before
    assert mark_of(skills) == mark
    assert len(told.good) == EDITED
    assert share < NEARLY_IDLE, f"{share:.1%} of a core"


def test_edits_every_second_disturb_nobody_else(skills: RunningSidecar, told: Told) -> None:
    dice = random.Random(7)
    began = datetime.now(UTC)
    edit_for(skills, told, dice, SECONDS)
    ended = datetime.now(UTC)
    assert set(told.broken) == set(KINDS)
    until("every run has ended", lambda: not running(skills), 60)

    # Nobody else: no failed run, no run missing, no reload
    for n in range(SKILLS - EDITED - TICKING):
        assert [(one.status, one.output) for one in of(skills, steady(n))] == [("completed", n)] * told.asked[steady(n)]
        assert skills.skill(steady(n))["version"] == 1
    for n in range(TICKING):
        minutes = {one.began_at.replace(second=0, microsecond=0) for one in of(skills, f"tick_{n}")}
        assert set(minutes_between(began, ended)) <= minutes
        assert {one.status for one in of(skills, f"tick_{n}")} == {"completed"}

    # The edited ones: the last good save serves, each good save was loaded once, and no run mixed two
    until("the last good saves serve", lambda: all(serves_last(skills, told, edited(n)) for n in range(EDITED)), 30)
    for n in range(EDITED):
        assert loaded(skills, edited(n)) <= {sha(text) for text in told.good[edited(n)]}
        for one in of(skills, edited(n)):
            assert one.status == "completed", one
            assert one.output[0] == one.output[1] == value_of(skills, one.version_id)
    total = sum(len(set(texts)) for texts in told.good.values()) + SKILLS + 1 - EDITED
    assert skills.log.count(" live, sha256") <= total

    # Nothing is left over: one process a version that serves, and one to spare, whatever was forked
    until("only what serves has a process", lambda: len(skills.children()) <= SKILLS + 2, 60)
    until("nothing is left of what was refused", lambda: len(bodies(skills)) <= SKILLS + 2, 60)


def edit_for(skills: RunningSidecar, told: Told, dice: random.Random, seconds: float) -> None:
    """An edit a second, in all ways of saving, half of them broken, each in another way until all had their turn; and
    a call of three skills a second.
    """
    end = time.monotonic() + seconds
    kinds = itertools.cycle(dice.sample(KINDS, len(KINDS)))
    turn = 0
    while (now := time.monotonic()) < end:
        turn += 1
        stem = edited(turn % EDITED)
        if turn % 2 == 0:
            text = SLOW.format(value=turn, event=f"{stem}/asked")
            dice.choice(WAYS)(skills.folder, stem, text)
            told.good[stem].append(text)
        else:
            kind = next(kinds)
            stem = edited(0) if kind == OF_ANOTHER else stem
            break_it(skills, stem, kind, turn, dice)
            told.broken[kind] += 1
        for asked in (stem, steady(turn % (SKILLS - EDITED - TICKING)), steady(0)):
            skills.ask(f"{asked}/asked")
            told.asked[asked] += 1
        time.sleep(max(0.0, now + 1 - time.monotonic()))
        for taken in (skills.home / "own").iterdir():
            taken.unlink()


def break_it(skills: RunningSidecar, stem: str, kind: str, turn: int, dice: random.Random) -> None:
    if kind == CLASH:
        skills.home.joinpath("own", f"{stem}.py").write_text(hello(turn, f"{stem}/asked"))
    else:
        dice.choice(WAYS)(skills.folder, stem, BROKEN[kind].format(turn=turn))


def bodies(skills: RunningSidecar) -> list[int]:
    """Every process of a skill that is there, and what those forked, the jailers not counted."""
    found = []
    for pid in tree(skills.pid):
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"sidecar.child" in argv and not argv[0].endswith(b"bwrap"):
                found.append(pid)
    return found


def mark_of(skills: RunningSidecar) -> int:
    with skills.reading() as scope:
        return skill.sum_epochs(scope)


def shipped_looked_at(skills: RunningSidecar) -> bool:
    return all(skills.skill(stem).get("functions") for stem in ("incident_triage", "infra_health_check"))


def of(skills: RunningSidecar, stem: str) -> list[runs.SkillRun]:
    with skills.reading() as scope:
        return runs.list_skill_runs(scope, stem, 1000)


def running(skills: RunningSidecar) -> list[Any]:
    every = [edited(n) for n in range(EDITED)] + [steady(n) for n in range(SKILLS - EDITED - TICKING)]
    return [one for stem in every for one in of(skills, stem) if one.status == "running"]


def serves_last(skills: RunningSidecar, told: Told, stem: str) -> bool:
    return bool(skills.skill(stem)["hash"] == sha(told.good[stem][-1]))


def loaded(skills: RunningSidecar, stem: str) -> set[str]:
    """What was let in; the engine's refusal comes to a version that is known already."""
    with skills.reading() as scope:
        return {version.sha for version in versions.list_versions(scope, stem) if version.stage != "refused"}


def value_of(skills: RunningSidecar, version_id: str) -> int:
    with skills.reading() as scope:
        source = versions.get_version(scope, version_id).source
    return int(next(line for line in source.splitlines() if line.startswith("VALUE")).partition("=")[2])


def minutes_between(began: datetime, ended: datetime) -> list[datetime]:
    """Every whole minute between the two, but for the last seconds of it."""
    first = began.replace(second=0, microsecond=0) + timedelta(minutes=1)
    count = int((ended - timedelta(seconds=10) - first).total_seconds() // 60) + 1
    return [first + timedelta(minutes=n) for n in range(max(0, count))]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
