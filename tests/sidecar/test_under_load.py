"""Fifty skills: others read and compile their files, then half of them are edited every second for two minutes, and
every other edit is broken."""

from __future__ import annotations

import compileall
import hashlib
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skills import book, runs, versions
from tests.bench.process_tree import tree_ms
from tests.sidecar.broken import BROKEN
from tests.sidecar.test_saving import WAYS
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.load, pytest.mark.parametrize("any_engine", ["embedded"], indirect=True)]

SECONDS = 120
READ_SECONDS = 20
NEARLY_IDLE = 0.1
"""Of a core, for all of the sidecar's processes."""
SKILLS = 50
EDITED = SKILLS // 2
TICKING = 3
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


def edited(n: int) -> str:
    return f"edited_{n}"


def steady(n: int) -> str:
    return f"steady_{n}"


@pytest.fixture(scope="module")
def told(skills: RunningSidecar) -> Told:
    """Fifty live skills."""
    for n in range(TICKING):
        skills.save(f"tick_{n}", TICK)
    for n in range(SKILLS - EDITED - TICKING):
        skills.save(steady(n), hello(n, f"{steady(n)}/asked"))
    told = Told()
    for n in range(EDITED):
        text = SLOW.format(value=0, event=f"{edited(n)}/asked")
        skills.save(edited(n), text)
        told.good[edited(n)] = [text]
    for stem in [f"tick_{n}" for n in range(TICKING)] + [steady(n) for n in range(SKILLS - EDITED - TICKING)]:
        skills.live(stem, 1, 120)
    for n in range(EDITED):
        skills.live(edited(n), 1, 120)
    return told


def test_b20_reading_compiling_and_linting_fifty_skills_reloads_nothing(skills: RunningSidecar, told: Told) -> None:
    until("what is shipped was looked at", lambda: shipped_looked_at(skills), 60)
    before, mark, began, cpu = skills.log, mark_of(skills), time.monotonic(), tree_ms(skills.pid)
    rounds = 0
    while time.monotonic() < began + READ_SECONDS or rounds < 3:
        rounds += 1
        for file in skills.folder.glob("*.py"):
            file.read_bytes()
        assert compileall.compile_dir(skills.folder, force=True, quiet=2)
        lint = [sys.executable, "-m", "ruff", "check", "--isolated", "-q", str(skills.folder)]
        linted = subprocess.run(lint, stdout=subprocess.DEVNULL, check=False)
        assert linted.returncode in (0, 1)
        (skills.folder / ".steady_0.py.swp").write_text(hello(9))
        (skills.folder / "steady_0.py~").write_text(hello(9))
        time.sleep(1)
    share = (tree_ms(skills.pid) - cpu) / 1000 / (time.monotonic() - began)

    assert skills.log == before
    assert mark_of(skills) == mark
    assert len(told.good) == EDITED
    assert share < NEARLY_IDLE, f"{share:.1%} of a core"


def test_edits_every_second_disturb_nobody_else(skills: RunningSidecar, told: Told) -> None:
    dice = random.Random(7)
    began = datetime.now(UTC)
    edit_for(skills, told, dice, SECONDS)
    ended = datetime.now(UTC)
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
    total = sum(len(set(texts)) for texts in told.good.values()) + SKILLS - EDITED
    assert skills.log.count(" live, sha256") <= total

    # Nothing is left over: one process a version that serves, and one to spare
    until("only what serves has a process", lambda: len(skills.children()) <= SKILLS + 1, 60)


def edit_for(skills: RunningSidecar, told: Told, dice: random.Random, seconds: float) -> None:
    """An edit a second, in all ways of saving, half of them broken; and a call of three skills a second."""
    end = time.monotonic() + seconds
    turn = 0
    while (now := time.monotonic()) < end:
        turn += 1
        stem = edited(turn % EDITED)
        good = turn % 2 == 0
        text = SLOW.format(value=turn, event=f"{stem}/asked") if good else dice.choice(BROKEN).format(turn=turn)
        dice.choice(WAYS)(skills.folder, stem, text)
        if good:
            told.good[stem].append(text)
        for asked in (stem, steady(turn % (SKILLS - EDITED - TICKING)), steady(0)):
            skills.ask(f"{asked}/asked")
            told.asked[asked] += 1
        time.sleep(max(0.0, now + 1 - time.monotonic()))


def mark_of(skills: RunningSidecar) -> int:
    with skills.reading() as scope:
        return book.mark(scope)


def shipped_looked_at(skills: RunningSidecar) -> bool:
    return all(skills.skill(stem).get("functions") for stem in ("incident_triage", "infra_health_check"))


def of(skills: RunningSidecar, stem: str) -> list[runs.SkillRun]:
    with skills.reading() as scope:
        return runs.of_skill(scope, stem, 1000)


def running(skills: RunningSidecar) -> list[Any]:
    every = [edited(n) for n in range(EDITED)] + [steady(n) for n in range(SKILLS - EDITED - TICKING)]
    return [one for stem in every for one in of(skills, stem) if one.status == "running"]


def serves_last(skills: RunningSidecar, told: Told, stem: str) -> bool:
    return bool(skills.skill(stem)["hash"] == sha(told.good[stem][-1]))


def loaded(skills: RunningSidecar, stem: str) -> set[str]:
    with skills.reading() as scope:
        return {version.sha for version in versions.listing(scope, stem)}


def value_of(skills: RunningSidecar, version_id: str) -> int:
    with skills.reading() as scope:
        source = versions.get(scope, version_id).source
    return int(next(line for line in source.splitlines() if line.startswith("VALUE")).partition("=")[2])


def minutes_between(began: datetime, ended: datetime) -> list[datetime]:
    """Every whole minute between the two, but for the last seconds of it."""
    first = began.replace(second=0, microsecond=0) + timedelta(minutes=1)
    count = int((ended - timedelta(seconds=10) - first).total_seconds() // 60) + 1
    return [first + timedelta(minutes=n) for n in range(max(0, count))]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
