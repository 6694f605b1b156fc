"""All that a function may answer the engine gets through the sidecar, and back, on each engine."""

from __future__ import annotations

import pytest

from tests.support.sidecar import RunningSidecar, hello
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded", "inngest")]

EVERY = '''"""Does all that a function may."""
from datetime import timedelta

import inngest
from skills.kit import client

MANIFEST = {
    "title": "Every", "purpose": "does all that a function may",
    "permissions": {
        "events": {"listen": ["every/asked", "every/heard", "every/never", "every/helped"], "send": ["every/heard"]},
        "invoke": ["skill-another/hello"],
    },
}


def later(attempt: int) -> int:
    """Well at the second attempt."""
    if attempt == 0:
        raise inngest.RetryAfterError("not yet", 1000)
    return attempt


def wrong() -> None:
    raise ValueError("it is wrong")


@client.create_function(fn_id="help", trigger=inngest.TriggerEvent(event="every/helped"), retries=0)
def help_out(ctx: inngest.ContextSync) -> object:
    seconds = int(str(ctx.event.data.get("seconds", 0)))
    if seconds:
        ctx.step.sleep("long", timedelta(seconds=seconds))
    if ctx.event.data.get("fail"):
        raise inngest.NonRetriableError("no help")
    return ctx.event.data.get("word")


@client.create_function(fn_id="waits", trigger=inngest.TriggerEvent(event="every/asked"), retries=2)
def waits(ctx: inngest.ContextSync) -> object:
    ctx.step.sleep("nap", timedelta(seconds=1))
    heard, _ = ctx.group.parallel((
        lambda: ctx.step.wait_for_event(
            "wait", event="every/heard", if_exp="async.data.word == event.data.word", timeout=timedelta(seconds=50)),
        lambda: ctx.step.send_event("send", inngest.Event(name="every/heard", data=dict(ctx.event.data))),
    ))
    never = ctx.step.wait_for_event("never", event="every/never", timeout=timedelta(seconds=1))
    return [heard.data["word"] if isinstance(heard, inngest.Event) else None, never]


@client.create_function(fn_id="invokes", trigger=inngest.TriggerEvent(event="every/asked"), retries=0)
def invokes(ctx: inngest.ContextSync) -> object:
    own = ctx.step.invoke("own", function=help_out, data={"word": ctx.event.data["word"]})
    other = ctx.step.invoke_by_id("other", app_id="skill-another", function_id="hello")
    told = []
    try:
        ctx.step.invoke("failing", function=help_out, data={"fail": True})
    except inngest.StepError as error:
        told.append(error.message)
    try:
        ctx.step.invoke("slow", function=help_out, data={"seconds": 30}, timeout=timedelta(seconds=1))
    except inngest.StepError as error:
        told.append(error.name)
    return [own, other, told]


@client.create_function(fn_id="steps", trigger=inngest.TriggerEvent(event="every/asked"), retries=2)
def steps(ctx: inngest.ContextSync) -> object:
    three = ctx.group.parallel((
        lambda: ctx.step.run("a", lambda: "a"),
        lambda: ctx.step.run("b", lambda: "b"),
        lambda: ctx.step.run("c", later, ctx.attempt),
    ))
    first = ctx.group.parallel((
        lambda: ctx.step.run("quick", lambda: "quick"),
        lambda: ctx.step.wait_for_event("slow", event="every/never", timeout=timedelta(seconds=1)),
    ), parallel_mode=inngest.ParallelMode.RACE)
    again = [ctx.step.run("again", lambda: number) for number in range(3)]
    try:
        ctx.step.run("wrong", wrong)
    except inngest.StepError as error:
        return [three, first, again, error.message]


def mourn(ctx: inngest.ContextSync) -> object:
    return [ctx.event.data["error"]["message"], ctx.event.data["event"]["data"]["word"]]


@client.create_function(
    fn_id="fails", trigger=inngest.TriggerEvent(event="every/asked"), retries=1, on_failure=mourn)
def fails(ctx: inngest.ContextSync) -> object:
    raise ValueError("as it must")
'''


def test_every_op_gets_through(skills: RunningSidecar) -> None:
    skills.save("another", hello(7, "another/asked"))
    skills.live("another", 1)
    skills.save("every", EVERY)
    skills.answer("every", "grant")
    skills.live("every", 1)

    skills.ask("every/asked", word="wörd")

    assert skills.outputs("skill-every/waits", 1, 60) == [["wörd", None]]
    assert skills.outputs("skill-every/invokes", 1, 60) == [["wörd", 7, ["no help", "InngestInvokeTimeoutError"]]]
    assert skills.outputs("skill-every/steps", 1, 60) == [[["a", "b", 1], ["quick", None], [0, 1, 2], "it is wrong"]]
    assert skills.outputs("skill-every/fails-failure", 1, 60) == [["as it must", "wörd"]]
    (failed,) = until("its error", lambda: [run for run in skills.runs("skill-every/fails") if run["error"]], 60)
    assert failed["status"] == "failed"
    assert "as it must" in str(failed["error"])
