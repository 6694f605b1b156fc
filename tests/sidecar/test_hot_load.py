"""A saved skill is live at once, and only good ones are."""

from __future__ import annotations

import time

import httpx
import pytest

from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until


def test_a_saved_skill_runs_and_an_edit_replaces_it(skills: RunningSidecar) -> None:
    began = time.monotonic()
    skills.save("greeter", hello(1))
    live = skills.live("greeter", 1)
    took = time.monotonic() - began
    assert took < 5, took
    print(f"save to live {took:.3f} s")
    assert live["triggers"][0]["event"] == "hello/asked"
    assert live["functions"][0]["app"] == "skill-greeter"
    skills.ask("hello/asked")
    assert skills.outputs("skill-greeter/hello", 1) == [1]

    skills.save("greeter", hello(2))
    assert skills.live("greeter", 2)["hash"] != live["hash"]
    skills.ask("hello/asked")
    assert skills.outputs("skill-greeter/hello", 2) == [1, 2]


BAD = {
    "syntax": ("def broken(:\n", 1, "invalid syntax"),
    "no manifest": ("x = 1\n", 1, "MANIFEST"),
    "manifest of calls": ("MANIFEST = dict(title='a')\n", 1, "not a literal"),
    "unknown permission": (hello(3).replace('"permissions": {}', '"permissions": {"root": True}'), 5, "root"),
    "import": (hello(3) + "\nimport no_such_thing\n", 12, "no_such_thing"),
    "raises": (hello(3) + "\n1 / 0\n", 12, "ZeroDivisionError"),
    "exits": (hello(3) + "\nraise SystemExit\n", 12, "SystemExit"),
    "dies": (hello(3) + "\nimport os\nos._exit(0)\n", None, "ended while loading"),
    "never ends": (hello(3) + "\nwhile True:\n    pass\n", None, "more than 5 s"),
    "no function": ('MANIFEST = {"title": "a", "purpose": "b"}\n', None, "no function"),
    "async": (hello(3).replace("def hello", "async def hello").replace("ContextSync", "Context"), None, "async"),
    "another app": (
        hello(3).replace("@client", "@inngest.Inngest(app_id='other', is_production=False)"),
        None,
        "not a function of skill-greeter",
    ),
    "refused by the engine": (
        hello(3).replace('inngest.TriggerEvent(event="hello/asked")', 'inngest.TriggerCron(cron="now and then")'),
        None,
        "the engine refuses it",
    ),
}


def test_a_bad_edit_leaves_the_good_version_serving(skills: RunningSidecar) -> None:
    skills.save("greeter", hello(1))
    good = skills.live("greeter", 1)
    for name, (text, line, reason) in BAD.items():
        skills.save("greeter", text)

        def told(reason: str = reason) -> bool:
            return any(reason in problem["reason"] for problem in skills.skill("greeter")["problems"])

        until(f"the reason for {name!r}: {reason}", told, 30)
        kept = skills.skill("greeter")
        assert (kept["status"], kept["version"], kept["hash"]) == ("active", 1, good["hash"])
        assert kept["problems"][0]["line"] == line, name
        assert kept["problems"][0]["fix"]
    skills.ask("hello/asked")
    assert skills.outputs("skill-greeter/hello", 1) == [1]

    skills.save("greeter", hello(1))
    until("no problem once the file is good again", lambda: skills.skill("greeter")["problems"] == [])
    assert skills.skill("greeter")["version"] == 1


def test_a_file_that_never_loads_holds_up_nobody(skills: RunningSidecar) -> None:
    skills.save("endless", hello(1, "endless/asked") + "\nwhile True:\n    pass\n")
    skills.save("greeter", hello(1))
    skills.live("greeter", 1)
    assert skills.skill("endless")["status"] == "checking"
    until("the endless one refused", lambda: skills.skill("endless")["status"] == "refused", 30)


def test_a_deleted_skill_starts_no_runs_and_may_come_back(skills: RunningSidecar) -> None:
    skills.save("greeter", hello(1))
    skills.live("greeter", 1)
    (skills.folder / "greeter.py").unlink()
    until("retirement", lambda: skills.skill("greeter")["status"] == "retired")
    until("no child but the spare", lambda: len(skills.children()) == 1)
    skills.ask("hello/asked")
    time.sleep(1)
    assert skills.history.list(function="skill-greeter/hello")["items"] == []
    skills.save("greeter", hello(2))
    skills.live("greeter", 2)
    skills.ask("hello/asked")
    assert skills.outputs("skill-greeter/hello", 1) == [2]


def test_a_skill_that_exits_in_a_step_ends_only_its_run(skills: RunningSidecar) -> None:
    text = hello(1).replace("lambda: VALUE", "lambda: exec('raise SystemExit')").replace("retries=2", "retries=0")
    skills.save("exits", text)
    skills.save("greeter", hello(1, "other/asked"))
    skills.live("exits", 1)
    skills.live("greeter", 1)
    skills.ask("hello/asked")
    until("the run failed", lambda: [r["status"] for r in skills.runs("skill-exits/hello")] == ["failed"], 30)
    assert "SystemExit" in str(skills.runs("skill-exits/hello")[0]["error"])
    skills.ask("other/asked")
    assert skills.outputs("skill-greeter/hello", 1) == [1]
    assert skills.is_ready()


@pytest.mark.parametrize("path", ["/api/inngest/nobody", "/api/inngest/..%2f", "/api/inngest"])
def test_unknown_addresses_are_plain_refusals(skills: RunningSidecar, path: str) -> None:
    assert httpx.post(skills.url + path, content=b"{}").status_code in {401, 404}
