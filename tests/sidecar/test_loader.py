"""What only shows when a file is loaded or run is found in its jail, and costs nobody else anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sidecar.watch.folders import SkillFile
from skills.format.problem import SkillProblem
from tests.sidecar.local_registry import jail_folders, local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

GOOD = hello(3, "steady/asked")
BY_SCHEDULE, TWO_DAYS = 'inngest.TriggerCron(cron="{}")', ", rate_limit=inngest.RateLimit(limit=1, period=172_800_000)"
BAD = {
    "import": (GOOD + "\nimport no_such_thing\n", 12, "no_such_thing"),
    "raises": (GOOD + "\n1 / 0\n", 12, "ZeroDivisionError"),
    "exits": (GOOD + "\nraise SystemExit\n", 12, "SystemExit"),
    "dies": (GOOD + "\nimport os\nos._exit(0)\n", None, "ended while loading"),
    "no function": ('MANIFEST = {"title": "a", "purpose": "b"}\n', None, "no function"),
    "async": (GOOD.replace("def hello", "async def hello").replace("ContextSync", "Context"), None, "async"),
    "another app": (
        GOOD.replace("@client", "@inngest.Inngest(app_id='other', is_production=False)"),
        None,
        "not a function of skill-steady",
    ),
    "refused by the engine": (
        GOOD.replace('inngest.TriggerEvent(event="steady/asked")', BY_SCHEDULE.format("0 3 * * *") + TWO_DAYS),
        None,
        "the engine refuses it",
    ),
}


@pytest.fixture(scope="module")
def loose(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    """A sidecar whose gate lets everything in."""
    with local_registry(any_engine, tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.mark.boundary(60)
def test_an_error_that_only_loading_shows_leaves_the_good_version_serving(loose: RunningSidecar) -> None:
    loose.save("steady", hello(1, "steady/asked"))
    good = loose.live("steady", 1)
    for name, (text, line, reason) in BAD.items():
        loose.save("steady", text)

        def told(reason: str = reason) -> bool:
            return any(reason in problem["reason"] for problem in loose.skill("steady")["problems"])

        until(f"the reason for {name!r}: {reason}", told, 30)
        kept = loose.skill("steady")
        assert (kept["status"], kept["version"], kept["hash"]) == ("active", 1, good["hash"])
        assert kept["problems"][0]["line"] == line, name
        assert kept["problems"][0]["fix"]
    loose.ask("steady/asked")
    assert loose.outputs("skill-steady/hello", 1) == [1]

    loose.save("steady", hello(1, "steady/asked"))
    until("no problem once the file is good again", lambda: loose.skill("steady")["problems"] == [])
    assert loose.skill("steady")["version"] == 1


def test_a_file_that_never_loads_holds_up_nobody(loose: RunningSidecar) -> None:
    loose.save("endless", hello(1, "endless/asked") + "\nwhile True:\n    pass\n")
    loose.save("patient", hello(1, "patient/asked"))
    loose.live("patient", 1)
    assert loose.skill("endless")["status"] == "checking"
    until("the endless one refused", lambda: loose.skill("endless")["status"] == "refused", 30)
    assert "more than 5 s" in loose.skill("endless")["problems"][0]["reason"]


def is_refused(skills: RunningSidecar, stem: str) -> bool:
    return bool(skills.skill(stem).get("status") == "refused")


def test_files_that_sleep_while_loading_hold_up_nobody(loose: RunningSidecar) -> None:
    """More of them than are looked after at once, and the gate lets them in."""
    sleepers = [f"sleeper_{n}" for n in range(12)]
    for stem in sleepers:
        loose.save(stem, hello(1, f"{stem}/asked") + "\nimport time\ntime.sleep(600)\n")
    loose.save("awake", hello(1, "awake/asked"))
    loose.live("awake", 1, 25)
    for stem in sleepers:
        until(f"{stem} refused", partial(is_refused, loose, stem), 60)
        assert loose.skill(stem)["problems"][0]["reason"] == "loading waited for more than 5 s"


def test_the_process_of_a_refused_file_ends_though_it_is_still_loading(
    any_engine: RunningEngine, tmp_path: Path
) -> None:
    def refuses(file: SkillFile) -> list[SkillProblem]:
        return [SkillProblem(1, "it sleeps", "wake it")] if b"sleep" in file.source else []

    with local_registry(any_engine, tmp_path / "home", check=refuses) as skills:
        for n in range(9):
            skills.save(f"bad_{n}", hello(n, f"bad/{n}") + "\nimport time\ntime.sleep(600)\n")
        for n in range(9):
            until(f"bad_{n} refused", partial(is_refused, skills, f"bad_{n}"), 60)
        skills.save("good", hello(1, "good/asked"))
        skills.live("good", 1, 25)
        until("only the good one and a spare have a process", lambda: len(jail_folders(skills)) <= 2, 25)


def test_a_skill_that_exits_in_a_step_ends_only_its_run(loose: RunningSidecar) -> None:
    text = hello(1, "exits/asked").replace("lambda: VALUE", "lambda: exec('raise SystemExit')").replace("=2", "=0")
    loose.save("exits", text)
    loose.save("survivor", hello(1, "survives/asked"))
    loose.live("exits", 1)
    loose.live("survivor", 1)
    loose.ask("exits/asked")
    until("the run failed", lambda: [r["status"] for r in loose.runs("skill-exits/hello")] == ["failed"], 30)
    loose.ask("survives/asked")
    assert loose.outputs("skill-survivor/hello", 1) == [1]
