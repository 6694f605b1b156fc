"""Every option that the checks let a function have is registered as it is meant, on each engine."""

from __future__ import annotations

import time

import pytest

from core.orchestrator.registration import engine_lists_app
from tests.support.sidecar import RunningSidecar
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.engines("embedded", "inngest")]

HEAD = '''"""Has many options."""
from datetime import timedelta

import inngest
from skills.kit import client

MANIFEST = {"title": "Options", "purpose": "has many", "permissions": {
    "events": {"listen": ["opts/asked", "opts/other", "opts/stopped", "opts/batched"]}}}
ASKED = inngest.TriggerEvent(event="opts/asked")
'''
PLAIN = {
    "two-limits": 'concurrency=[inngest.Concurrency(limit=2, key="event.data.who"), inngest.Concurrency(limit=3)]',
    "two-keyed-limits": 'concurrency=[inngest.Concurrency(limit=2, key="event.data.who"), '
    'inngest.Concurrency(limit=3, key="event.data.n", scope="fn")]',
    "throttled": 'throttle=inngest.Throttle(limit=50, period=timedelta(seconds=10), burst=5, key="event.data.who")',
    "rate-limited": 'rate_limit=inngest.RateLimit(limit=50, period=timedelta(minutes=1), key="event.data.who")',
    "debounced": "debounce=inngest.Debounce(period=timedelta(seconds=1), timeout=timedelta(seconds=5), "
    'key="event.data.who")',
    "urgent": 'priority=inngest.Priority(run="event.data.n")',
    "once": 'idempotency="event.data.who"',
    "single": 'singleton=inngest.Singleton(mode="skip", key="event.data.who")',
    "limited-in-time": "timeouts=inngest.Timeouts(start=timedelta(minutes=5), finish=timedelta(minutes=5))",
    "jittered": "retries=20",
    "stoppable": 'cancel=[inngest.Cancel(event="opts/stopped", if_exp="async.data.who == event.data.who", '
    "timeout=timedelta(hours=1))]",
}
"""With each of these a function answers an event once."""
FUNCTION = """
@client.create_function(fn_id="{fn_id}", trigger={trigger}, {option})
def {name}(ctx: inngest.ContextSync) -> object:
    return [one.data["n"] for one in ctx.events]
"""
SLEEPER = """
@client.create_function(fn_id="sleeper", trigger=ASKED, retries=0,
    cancel=[inngest.Cancel(event="opts/stopped", if_exp="async.data.who == event.data.who")])
def sleeper(ctx: inngest.ContextSync) -> object:
    ctx.step.sleep("long", timedelta(minutes=10))
    return "slept"
"""
TRIGGERS = {
    "jittered": '[ASKED, inngest.TriggerCron(cron="TZ=Europe/Oslo 0 3 1 1 *", jitter="30s")]',
    "urgent": '[inngest.TriggerEvent(event="opts/other"), ASKED]',
    "throttled": 'inngest.TriggerEvent(event="opts/asked", expression="event.data.n < 10")',
    "batched": 'inngest.TriggerEvent(event="opts/batched")',
    "never": 'inngest.TriggerEvent(event="opts/asked", expression="event.data.who == \'nobody\'")',
}


def function(fn_id: str, option: str) -> str:
    trigger = TRIGGERS.get(fn_id, "ASKED")
    return FUNCTION.format(fn_id=fn_id, name=fn_id.replace("-", "_"), trigger=trigger, option=option)


BATCH = 'batch_events=inngest.Batch(max_size=2, timeout=timedelta(seconds=3), key="event.data.who")'


def test_every_option_is_registered_and_works(skills: RunningSidecar) -> None:
    functions = [function(fn_id, option) for fn_id, option in PLAIN.items()]
    functions += [SLEEPER, function("never", "retries=0"), function("batched", BATCH)]
    skills.save("options", HEAD + "".join(functions))
    skills.live("options", 1)
    assert engine_lists_app(skills.client, "skill-options")

    # One event begins one run of each
    skills.ask("opts/asked", who="ann", n=1)
    for fn_id in PLAIN:
        assert skills.outputs(f"skill-options/{fn_id}", 1) == [[1]], fn_id
    # Two fill a batch
    for n in (1, 2):
        skills.ask("opts/batched", who="ann", n=n)
    (batch,) = skills.outputs("skill-options/batched", 1)
    assert sorted(batch) == [1, 2]
    # A second one begins no more of what is done once
    skills.ask("opts/asked", who="ann", n=2)
    assert skills.outputs("skill-options/urgent", 2) == [[1], [2]]
    sleeping = until("both asleep", lambda: _with_status(skills, "running", 2), 30)
    # What is cancelled ends
    skills.ask("opts/stopped", who="bea")
    time.sleep(1)
    assert _with_status(skills, "running", 2) == sleeping
    skills.ask("opts/stopped", who="ann")
    assert until("both cancelled", lambda: _with_status(skills, "cancelled", 2), 30) == sleeping
    assert len(skills.runs("skill-options/once")) == 1
    assert skills.runs("skill-options/never") == []


def _with_status(skills: RunningSidecar, status: str, count: int) -> list[str]:
    found = [run["id"] for run in skills.runs("skill-options/sleeper") if run["status"] == status]
    return found if len(found) == count else []
