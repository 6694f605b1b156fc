"""A saved skill is live at once, and only good ones are."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until


def test_a_saved_skill_runs_and_an_edit_replaces_it(skills: RunningSidecar) -> None:
    began = time.monotonic()
    skills.save("greeter", hello(1, "greeter/asked"))
    live = skills.live("greeter", 1)
    took = time.monotonic() - began
    assert took < 5, took
    print(f"save to live {took:.3f} s")
    assert live["triggers"][0]["event"] == "greeter/asked"
    assert live["functions"][0]["app"] == "skill-greeter"
    skills.ask("greeter/asked")
    assert skills.outputs("skill-greeter/hello", 1) == [1]

    skills.save("greeter", hello(2, "greeter/asked"))
    assert skills.live("greeter", 2)["hash"] != live["hash"]
    skills.ask("greeter/asked")
    assert skills.outputs("skill-greeter/hello", 2) == [1, 2]


GOOD = hello(3, "steady/asked")
BAD = {
    "syntax": ("def broken(:\n", 1, "invalid syntax"),
    "no manifest": ("x = 1\n", 1, "MANIFEST"),
    "manifest of calls": ("MANIFEST = dict(title='a')\n", 1, "not a literal"),
    "unknown permission": (
        GOOD.replace('"permissions": {', '"permissions": {"root": True, '),
        5,
        "root",
    ),
    "import": (GOOD + "\nimport no_such_thing\n", 12, "no_such_thing"),
    "raises": (GOOD + "\n1 / 0\n", 12, "ZeroDivisionError"),
    "exits": (GOOD + "\nraise SystemExit\n", 12, "SystemExit"),
    "dies": (GOOD + "\nimport os\nos._exit(0)\n", None, "ended while loading"),
    "no function": ('MANIFEST = {"title": "a", "purpose": "b"}\n', None, "no function"),
    "async": (
        GOOD.replace("def hello", "async def hello").replace("ContextSync", "Context"),
        None,
        "async",
    ),
    "another app": (
        GOOD.replace("@client", "@inngest.Inngest(app_id='other', is_production=False)"),
        None,
        "not a function of skill-steady",
    ),
    "refused by the engine": (
        GOOD.replace('inngest.TriggerEvent(event="steady/asked")', 'inngest.TriggerCron(cron="now and then")'),
        None,
        "the engine refuses it",
    ),
}


def test_a_bad_edit_leaves_the_good_version_serving(skills: RunningSidecar) -> None:
    skills.save("steady", hello(1, "steady/asked"))
    good = skills.live("steady", 1)
    for name, (text, line, reason) in BAD.items():
        skills.save("steady", text)

        def told(reason: str = reason) -> bool:
            return any(reason in problem["reason"] for problem in skills.skill("steady")["problems"])

        until(f"the reason for {name!r}: {reason}", told, 30)
        kept = skills.skill("steady")
        assert (kept["status"], kept["version"], kept["hash"]) == ("active", 1, good["hash"])
        assert kept["problems"][0]["line"] == line, name
        assert kept["problems"][0]["fix"]
    skills.ask("steady/asked")
    assert skills.outputs("skill-steady/hello", 1) == [1]

    skills.save("steady", hello(1, "steady/asked"))
    until("no problem once the file is good again", lambda: skills.skill("steady")["problems"] == [])
    assert skills.skill("steady")["version"] == 1


def test_a_file_that_never_loads_holds_up_nobody(skills: RunningSidecar) -> None:
    skills.save("endless", hello(1, "endless/asked") + "\nwhile True:\n    pass\n")
    skills.save("patient", hello(1, "patient/asked"))
    skills.live("patient", 1)
    assert skills.skill("endless")["status"] == "checking"
    until("the endless one refused", lambda: skills.skill("endless")["status"] == "refused", 30)
    assert "more than 5 s" in skills.skill("endless")["problems"][0]["reason"]


def resting(skills: RunningSidecar) -> int:
    """How many processes there are, once nothing is starting or ending."""
    seen = skills.children()
    time.sleep(0.5)
    return len(seen) if seen == skills.children() else 0


def test_a_deleted_skill_starts_no_runs_and_may_come_back(skills: RunningSidecar) -> None:
    before = until("the processes at rest", lambda: resting(skills))
    skills.save("leaver", hello(1, "leaver/asked"))
    skills.live("leaver", 1)
    (skills.folder / "leaver.py").unlink()
    until("retirement", lambda: skills.skill("leaver")["status"] == "retired")
    until("its process ended", lambda: len(skills.children()) == before)
    skills.ask("leaver/asked")
    time.sleep(1)
    assert skills.history.list(function="skill-leaver/hello")["items"] == []
    skills.save("leaver", hello(2, "leaver/asked"))
    skills.live("leaver", 2)
    skills.ask("leaver/asked")
    assert skills.outputs("skill-leaver/hello", 1) == [2]


def test_a_skill_that_exits_in_a_step_ends_only_its_run(skills: RunningSidecar) -> None:
    text = (
        hello(1, "exits/asked")
        .replace("lambda: VALUE", "lambda: exec('raise SystemExit')")
        .replace("retries=2", "retries=0")
    )
    skills.save("exits", text)
    skills.save("survivor", hello(1, "survives/asked"))
    skills.live("exits", 1)
    skills.live("survivor", 1)
    skills.ask("exits/asked")
    until("the run failed", lambda: [r["status"] for r in skills.runs("skill-exits/hello")] == ["failed"], 30)
    assert "SystemExit" in str(skills.runs("skill-exits/hello")[0]["error"])
    skills.ask("survives/asked")
    assert skills.outputs("skill-survivor/hello", 1) == [1]
    assert skills.is_ready()


@pytest.mark.parametrize("path", ["/api/inngest/nobody", "/api/inngest/..%2f", "/api/inngest"])
def test_unknown_addresses_are_plain_refusals(skills: RunningSidecar, path: str) -> None:
    assert httpx.post(skills.url + path, content=b"{}").status_code in {401, 404}
