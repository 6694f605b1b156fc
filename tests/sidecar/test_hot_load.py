"""A saved skill is live at once, and only good ones are."""

from __future__ import annotations

import shutil
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
    "unknown permission": (GOOD.replace('"permissions": {', '"permissions": {"root": True, '), 5, "root"),
    "import": (GOOD + "\nimport no_such_thing\n", 12, "no_such_thing"),
    "raises": (GOOD + "\n1 / 0\n", 12, "runs while the file is loaded"),
    "exits": (GOOD + "\nraise SystemExit\n", 12, "SystemExit"),
    "no function": ('MANIFEST = {"title": "a", "purpose": "b"}\n', None, "no function"),
    "async": (GOOD.replace("def hello", "async def hello").replace("ContextSync", "Context"), 9, "async"),
    "schedule": (
        GOOD.replace('inngest.TriggerEvent(event="steady/asked")', 'inngest.TriggerCron(cron="now and then")'),
        8,
        "five fields",
    ),
}


@pytest.mark.boundary(60)
def test_a_bad_edit_leaves_the_good_version_serving_and_its_author_is_told(skills: RunningSidecar) -> None:
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


@pytest.mark.long
def test_a_deleted_skill_starts_no_runs_and_may_come_back(skills: RunningSidecar) -> None:
    skills.save("leaver", hello(1, "leaver/asked"))
    skills.live("leaver", 1)
    before = set(skills.children())
    (skills.folder / "leaver.py").unlink()
    until("retirement", lambda: skills.skill("leaver")["status"] == "retired")
    until("its process ended", lambda: before - set(skills.children()))
    skills.ask("leaver/asked")
    time.sleep(1)
    assert skills.runs("skill-leaver/hello") == []
    skills.save("leaver", hello(2, "leaver/asked"))
    skills.live("leaver", 2)
    skills.ask("leaver/asked")
    assert skills.outputs("skill-leaver/hello", 1) == [2]


@pytest.mark.long
def test_what_cannot_be_read_is_not_gone(skills: RunningSidecar) -> None:
    file, away = skills.folder / "locked.py", skills.folder.with_name("away")
    skills.save("locked", hello(1, "locked/asked"))
    skills.live("locked", 1)
    # Given a file that nobody can read: the system opens it and then fails
    file.unlink()
    file.symlink_to("/proc/self/mem")
    told = until("the reason", lambda: skills.skill("locked")["problems"])
    assert f"{file} cannot be read: " in told[0]["reason"]
    # And then a folder into which nobody can look
    skills.folder.rename(away)
    skills.folder.symlink_to(skills.folder)
    until("the trouble is noticed", lambda: "its skills stay as they are" in skills.log)
    skills.ask("locked/asked")
    assert skills.outputs("skill-locked/hello", 1) == [1]
    assert skills.skill("locked")["status"] == "active"
    # When both are as before
    skills.folder.unlink()
    away.rename(skills.folder)
    skills.save("locked", hello(1, "locked/asked"))
    until("no problem any more", lambda: skills.skill("locked")["problems"] == [])
    assert (skills.skill("locked")["status"], skills.skill("locked")["version"]) == ("active", 1)


@pytest.mark.long
def test_skills_are_loaded_and_run_after_somebody_tidied_up_their_folders(skills: RunningSidecar) -> None:
    skills.save("tidied", hello(1, "tidied/asked"))
    skills.live("tidied", 1)
    shutil.rmtree(skills.home / "sidecar" / "run", ignore_errors=True)
    skills.ask("tidied/asked")
    assert skills.outputs("skill-tidied/hello", 1) == [1]
    skills.save("tidied", hello(2, "tidied/asked"))
    skills.live("tidied", 2)
    skills.ask("tidied/asked")
    assert skills.outputs("skill-tidied/hello", 2) == [1, 2]


@pytest.mark.long
def test_of_a_file_without_end_only_the_beginning_is_read(skills: RunningSidecar) -> None:
    with (skills.folder / "endless.py").open("wb") as file:
        file.truncate(1 << 40)
    problems = until("the reason", lambda: skills.skill("endless").get("problems") or [])
    assert problems[0]["reason"] == "the file has more than 262144 bytes"


@pytest.mark.parametrize("path", ["/api/inngest/nobody", "/api/inngest/..%2f", "/api/inngest"])
def test_unknown_addresses_are_plain_refusals(skills: RunningSidecar, path: str) -> None:
    assert httpx.post(skills.url + path, content=b"{}").status_code in {401, 404}
