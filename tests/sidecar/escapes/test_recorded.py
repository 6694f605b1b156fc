"""Through the whole sidecar, with a gate that lets everything in: what was refused fails its run and is on record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.orchestrator.registration import engine_lists_app
from sidecar.watch.folders import SkillFile
from skills.book import refusals
from skills.checks import check_source
from skills.format.problem import SkillProblem
from tests.sidecar.local_registry import local_registry
from tests.support.engines import RunningEngine
from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded")]

HOSTILE = {
    "gateway": (
        "from inngest.experimental import ai\n"
        '    ctx.step.ai.infer("ask", adapter=ai.openai.Adapter(auth_key="k", model="m"), body={})',
        "AIGateway",
    ),
    "wait": ('ctx.step.wait_for_event("wait", event="card/answered", timeout=60_000)', "card/answered"),
    "invoke": ('ctx.step.invoke_by_id("call", app_id="loopwright", function_id="generate")', "loopwright-generate"),
}


def gate(file: SkillFile) -> list[SkillProblem]:
    """Open but for some skills."""
    return check_source(file.source, file.stem, {}) if file.stem.startswith("gated") else []


ENDED = {
    "exits": ("import os\n    os._exit(3)", "exited with status 3"),
    "crowds": (
        "import os, time\n    [os.fork() or time.sleep(60) for _ in range(40)]\n    time.sleep(60)",
        "processes and threads",
    ),
}


@pytest.fixture(scope="module")
def loose(any_engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSidecar]:
    with local_registry(any_engine, tmp_path_factory.mktemp("home"), check=gate) as running:
        yield running


@pytest.mark.parametrize("what", HOSTILE)
def test_an_op_it_may_not_answer_with_fails_the_run_at_once_and_is_on_record(loose: RunningSidecar, what: str) -> None:
    act, detail = HOSTILE[what]
    loose.save(what, hello(1, f"{what}/asked").replace("    return", f"    {act}\n    return"))
    loose.live(what, 1)
    loose.ask(f"{what}/asked")
    run = until(
        "the failed run", lambda: [run for run in loose.runs(f"skill-{what}/hello") if run["status"] == "failed"]
    )
    assert detail in str(run[0]["error"])
    with loose.reading() as scope:
        kept = refusals.list_refusals(scope, what)
    assert [(one.what, one.run_id, detail in one.detail) for one in kept] == [(what, run[0]["id"], True)]


@pytest.mark.parametrize("name", ENDED)
def test_a_run_that_is_ended_is_on_record(loose: RunningSidecar, name: str) -> None:
    act, detail = ENDED[name]
    loose.save(
        name, hello(1, f"{name}/asked").replace("retries=2", "retries=0").replace("return", f"{act}\n    return")
    )
    loose.live(name, 1)
    loose.ask(f"{name}/asked")
    until("the failed run", lambda: [r["status"] for r in loose.runs(f"skill-{name}/hello")] == ["failed"], 30)
    with loose.reading() as scope:
        assert [(one.what, detail in one.detail) for one in refusals.list_refusals(scope, name)] == [("ended", True)]


def test_what_a_run_plainly_tries_is_on_record(loose: RunningSidecar) -> None:
    act = """import os
    for act in (lambda: open("/etc/shadow"), lambda: os.kill(1, 9)):
        try:
            act()
        except OSError:
            pass
    return VALUE"""
    loose.save("curious", hello(1, "curious/asked").replace('return ctx.step.run("answer", lambda: VALUE)', act))
    loose.live("curious", 1)
    loose.ask("curious/asked")
    assert loose.outputs("skill-curious/hello", 1) == [1]
    with loose.reading() as scope:
        (kept,) = refusals.list_refusals(scope, "curious")
    assert (kept.what, kept.detail) == ("attempt", "it tried to read /etc/shadow; send the signal 9 to 1")


def test_an_account_wide_key_that_the_gate_refuses_is_on_record(loose: RunningSidecar) -> None:
    option = 'concurrency=[inngest.Concurrency(limit=1, scope="account", key="1")], retries=2'
    loose.save("gated", hello(1, "gated/asked").replace("retries=2", option))
    until("the reason", lambda: list(loose.skill("gated").get("problems", [])))
    with loose.reading() as scope:
        assert [
            (one.what, "beyond its own function" in one.detail) for one in refusals.list_refusals(scope, "gated")
        ] == [("registration", True)]


def test_an_event_of_the_engine_that_the_gate_refuses_to_send_is_on_record(loose: RunningSidecar) -> None:
    act = 'ctx.step.send_event("tell", inngest.Event(name="inngest/function.failed"))'
    loose.save("gated_too", hello(1, "gated/asked").replace("    return", f"    {act}\n    return"))
    until("the reason", lambda: list(loose.skill("gated_too").get("problems", [])))
    with loose.reading() as scope:
        kept = refusals.list_refusals(scope, "gated_too")
    assert [(one.what, "may not send it" in one.detail) for one in kept] == [("registration", True)]


def test_what_a_file_tries_that_then_does_not_load_is_on_record(loose: RunningSidecar) -> None:
    loose.save("fallen", hello(1, "fallen/asked") + "\nimport glob\nglob.glob('/home/*')\nraise ValueError\n")
    until("the reason", lambda: list(loose.skill("fallen").get("problems", [])))
    with loose.reading() as scope:
        (kept,) = refusals.list_refusals(scope, "fallen")
    assert (kept.what, kept.detail) == ("attempt", "while it was loaded it tried to look into /home")


def test_an_account_wide_key_does_not_register(loose: RunningSidecar) -> None:
    option = 'concurrency=[inngest.Concurrency(limit=1, scope="account", key="1")], retries=2'
    loose.save("greedy", hello(1, "greedy/asked").replace("retries=2", option))
    problems = until("the reason", lambda: list(loose.skill("greedy").get("problems", [])))
    assert "concurrency.0.scope" in problems[0]["reason"]
    with loose.reading() as scope:
        assert [one.what for one in refusals.list_refusals(scope, "greedy")] == ["registration"]
    assert loose.skill("greedy")["status"] == "refused"
    assert not engine_lists_app(loose.client, "skill-greedy")


def test_another_skills_function_is_not_taken_over(loose: RunningSidecar) -> None:
    """An engine writes app and function with a hyphen between them, so that two pairs can come to one id."""
    loose.save("twin", hello(1, "twin/asked").replace('fn_id="hello"', 'fn_id="b-hello"'))
    loose.live("twin", 1)
    loose.save("twin-b", hello(2, "twin/asked"))
    problems = until("the reason", lambda: list(loose.skill("twin-b").get("problems", [])))
    assert "skill-twin-b-hello is a function of another skill" in problems[0]["reason"]
    with loose.reading() as scope:
        assert [one.what for one in refusals.list_refusals(scope, "twin-b")] == ["registration"]
    assert not engine_lists_app(loose.client, "skill-twin-b")
    loose.ask("twin/asked")
    assert loose.outputs("skill-twin/b-hello", 1) == [1]
