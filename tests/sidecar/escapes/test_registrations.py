"""A skill registers as itself, with what it declared, and holds up nobody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from skills.checks.gate import tree_problems
from skills.checks.syntax import parse_source
from skills.format.problem import RefusedSkillError
from tests.support.jail_children import JailChildren, subject

CLEAN = subject("return 1")
OTHER = """
import inngest as other
@other.Inngest(app_id={app!r}, is_production=False).create_function(
    fn_id={fn!r}, trigger=inngest.TriggerEvent(event="subject/asked"))
def foreign(ctx):
    return 1
"""
FUNCTION = """
@client.create_function(fn_id="more", trigger={trigger}{options})
def more(ctx):
    return 1
"""


def more(options: str = "", trigger: str = 'inngest.TriggerEvent(event="subject/asked")') -> str:
    return CLEAN + FUNCTION.format(trigger=trigger, options=f", {options}" if options else "")


MADE_UP = """
class Forged:
    on_failure = None
    def __init__(self, url):
        self.main = self
    def to_dict(self):
        runtime = {"type": "http", "url": "http://elsewhere.example"}
        step = {"id": "step", "name": "step", "runtime": runtime}
        told = {"id": "skill-subject-more", "steps": {"step": step}, "triggers": [{"event": "subject/asked"}]}
        return {**told, "url": "http://elsewhere.example"}

more.get_config = Forged
"""

HOSTILE = {
    "another app": (CLEAN + OTHER.format(app="loopwright", fn="main"), "loopwright-main is not a function of"),
    "another skill": (CLEAN + OTHER.format(app="skill-other", fn="main"), "skill-other-main is not a function of"),
    "an app that begins alike": (CLEAN + OTHER.format(app="skill-subject2", fn="a"), "not a function of skill-subject"),
    "an odd id": (CLEAN.replace('fn_id="main"', 'fn_id="../main"'), "is not a function of skill-subject"),
    "the account's concurrency": (
        more('concurrency=[inngest.Concurrency(limit=1, scope="account", key="1")]'),
        "concurrency.0.scope",
    ),
    "the environment's concurrency": (
        more('concurrency=[inngest.Concurrency(limit=1, scope="env", key="1")]'),
        "concurrency.0.scope",
    ),
    "the id of a handler of failures": (
        more().replace('fn_id="more"', 'fn_id="more-failure"'),
        "id of a failure handler",
    ),
    "a schedule of every second": (more(trigger='inngest.TriggerCron(cron="@every 1s")'), "triggers.0.cron"),
    "work without end for each event": (
        more(
            trigger='inngest.TriggerEvent(event="subject/asked",'
            ' expression="event.data.a.all(x, event.data.a.all(y, x != y))")'
        ),
        "triggers.0.expression",
    ),
    "retries without end": (more("retries=21"), "steps.step.retries.attempts"),
    "an undeclared event": (more(trigger='inngest.TriggerEvent(event="card/answered")'), "listens to card/answered"),
    "every event": (more(trigger='inngest.TriggerEvent(event="card/*")'), "triggers.0.event"),
    "failures of others": (
        more(trigger='inngest.TriggerEvent(event="inngest/function.failed")'),
        "listens to inngest/function.failed",
    ),
    "cancelled by an undeclared event": (more('cancel=[inngest.Cancel(event="a/b")]'), "listens to a/b"),
    "the engine's events, declared": (
        more(trigger='inngest.TriggerEvent(event="inngest/function.failed")').replace(
            "'listen': [", "'listen': ['inngest/function.failed', "
        ),
        "inngest/function.failed is the engine's own",
    ),
    "our events, declared": (
        more(trigger='inngest.TriggerEvent(event="turn/requested")').replace(
            "'listen': [", "'listen': ['turn/requested', "
        ),
        "turn/requested is Loopwright's own",
    ),
    "a long expression": (more('idempotency="1+" * 1000'), "idempotency"),
    "a priority of text without end": (more('priority=inngest.Priority(run="1+" * 1000)'), "priority.run"),
    "too many functions": (
        CLEAN
        + "".join(
            FUNCTION.format(trigger='inngest.TriggerEvent(event="subject/asked")', options="").replace(
                "more", f"more{n}"
            )
            for n in range(20)
        ),
        "21 functions",
    ),
    "a made up configuration": (more() + MADE_UP, "url"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_with_the_field_named(prison: JailChildren, name: str) -> None:
    source, reason = HOSTILE[name]
    with pytest.raises(RefusedSkillError) as caught:
        prison.registered(source)
    assert any(reason in problem.reason for problem in caught.value.problems), caught.value.problems
    assert all(problem.fix for problem in caught.value.problems)


def test_an_honest_one_is_written_anew(prison: JailChildren) -> None:
    options = """retries=3, on_failure=lambda ctx: None, concurrency=[inngest.Concurrency(limit=2, scope="fn")],
        debounce=inngest.Debounce(period=2000), throttle=inngest.Throttle(limit=1, period=1000),
        rate_limit=inngest.RateLimit(limit=1, period=60_000), timeouts=inngest.Timeouts(start=1000),
        cancel=[inngest.Cancel(event="subject/asked", timeout=3000)], priority=inngest.Priority(run="1"),
        singleton=inngest.Singleton(mode="skip"), idempotency="event.data.x", name="More of it\""""
    trigger = '[inngest.TriggerEvent(event="subject/asked"), inngest.TriggerCron(cron="TZ=Europe/Paris */5 * * * *")]'
    found = {one["id"]: one for one in prison.registered(more(options.replace('it\\"', 'it"'), trigger))}
    assert set(found) == {"skill-subject-main", "skill-subject-more", "skill-subject-more-failure"}
    one = found["skill-subject-more"]
    assert one["steps"] == {
        "step": {
            "id": "step",
            "name": "step",
            "retries": {"attempts": 3},
            "runtime": {
                "type": "http",
                "url": "http://sidecar.example/api/inngest/subject?fnId=skill-subject-more&stepId=step",
            },
        }
    }
    assert one["triggers"] == [{"event": "subject/asked"}, {"cron": "TZ=Europe/Paris */5 * * * *"}]
    assert one["concurrency"] == [{"limit": 2, "scope": "fn"}]
    assert (one["debounce"], one["rateLimit"]) == ({"period": "2s"}, {"limit": 1, "period": "1m"})
    assert found["skill-subject-more-failure"]["triggers"] == [
        {"event": "inngest/function.failed", "expression": "event.data.function_id == 'skill-subject-more'"}
    ]


def many(count: int, options: str = "") -> str:
    text = FUNCTION.format(trigger='inngest.TriggerEvent(event="subject/asked")', options=f", {options}")
    return "".join(text.replace("more", f"more{number}") for number in range(count))


AT_THE_LIMIT: dict[str, Callable[[int], str]] = {
    "triggers": lambda extra: more(trigger=f"[{_events(9 + extra)}]"),
    "functions with handlers of their failures": lambda extra: CLEAN + many(19 + extra, "on_failure=subject"),
    "a long expression": lambda extra: more(f"idempotency=\"event.data.a == '{'a' * (982 + extra)}'\""),
    "a long id with a handler": lambda extra: more("on_failure=subject").replace('"more"', f'"{"m" * (100 + extra)}"'),
    "retries": lambda extra: more(f"retries={20 + extra}"),
}


def _events(count: int) -> str:
    return ", ".join(
        f"inngest.TriggerEvent(event='subject/asked', expression='event.data.n == {one}')" for one in range(count)
    )


@pytest.mark.parametrize("name", AT_THE_LIMIT)
def test_the_gate_and_the_registration_have_the_same_limits(prison: JailChildren, name: str) -> None:
    """Given a file at a limit and one beyond it, then both let the one pass and neither the other."""
    at, beyond = (AT_THE_LIMIT[name](extra) for extra in (0, 1))
    assert gate(at) == []
    assert prison.registered(at)
    assert gate(beyond) != []
    with pytest.raises(RefusedSkillError):
        prison.registered(beyond)


def gate(source: str) -> list[str]:
    text, tree = parse_source(source.encode())
    return [problem.reason for problem in tree_problems(text, tree, "subject", {})]
