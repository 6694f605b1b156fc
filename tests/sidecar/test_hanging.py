"""A skill whose runs hang keeps nobody from anything, on our engine and on Inngest's."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from sidecar.protocol.call_slots import SLOTS_A_SKILL, SLOTS_IN_ALL
from skills.book import runs
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [
    pytest.mark.load,
    pytest.mark.engines("embedded", "inngest"),
]


def hangs(event: str, option: str = "") -> str:
    text = hello(1, event).replace("import inngest", "import time\n\nimport inngest", 1)
    return text.replace("lambda: VALUE", "lambda: time.sleep(800)").replace("retries=2", f"retries=2{option}")


def running(skills: RunningSidecar, stem: str) -> int:
    with skills.reading() as scope:
        return sum(run.status == "running" for run in runs.list_skill_runs(scope, stem, 1000))


def has_all(skills: RunningSidecar, stem: str) -> bool:
    return running(skills, stem) == SLOTS_A_SKILL


def test_more_hanging_runs_than_threads_keep_nobody_from_anything(
    any_engine: RunningEngine, skills: RunningSidecar
) -> None:
    skills.save("hangs", hangs("hangs/asked"))
    # So many limits of its own that the engine is told none of ours.
    keyed = """, concurrency=[
    inngest.Concurrency(limit=900, key="event.data.a"), inngest.Concurrency(limit=900, key="event.data.b")]"""
    skills.save("floods", hangs("floods/asked", keyed))
    skills.save("works", hello(5, "works/asked"))
    for stem in ("hangs", "floods", "works"):
        skills.live(stem, 1)

    for event in ("hangs/asked", "floods/asked"):
        skills.client.send_all([{"name": event, "data": {"a": n, "b": n}} for n in range(2 * SLOTS_IN_ALL)])
    for stem in ("hangs", "floods"):
        until(f"{stem} has all that it may", partial(has_all, skills, stem), 90)

    assert httpx.get(skills.url + "/readyz", timeout=20).status_code == 200
    for _ in range(2 * SLOTS_A_SKILL):
        skills.ask("works/asked")
    assert skills.outputs("skill-works/hello", 2 * SLOTS_A_SKILL, 60) == [5] * 2 * SLOTS_A_SKILL
    skills.save("works", hello(6, "works/asked"))
    skills.live("works", 2)
    assert running(skills, "hangs") == running(skills, "floods") == SLOTS_A_SKILL


def test_what_comes_at_once_costs_no_attempt(any_engine: RunningEngine, skills: RunningSidecar) -> None:
    text = hello(7, "crowd/asked").replace("import inngest", "import time\n\nimport inngest", 1)
    text = text.replace("lambda: VALUE", "lambda: time.sleep(0.2) or VALUE").replace("retries=2", "retries=0")
    skills.save("crowd", text)
    skills.live("crowd", 1)
    skills.client.send_all([{"name": "crowd/asked", "data": {}} for _ in range(3 * SLOTS_A_SKILL)])
    assert skills.outputs("skill-crowd/hello", 3 * SLOTS_A_SKILL, 90) == [7] * 3 * SLOTS_A_SKILL
