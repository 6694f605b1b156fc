"""What good authors write passes the whole gate, lint and types included; what only the tools can see does not."""

from __future__ import annotations

import time
from pathlib import Path

import inngest._internal.types as sdk
import pytest

from skills.checks import check_source
from skills.checks.gate import missing_programs, tree_problems
from skills.checks.syntax import parse_source
from standins.model.rules.skill_source import adapt_source, repair_source, set_numbers
from standins.model.rules.watch_wish import WatchWish
from tests.skills import honest_skills
from tests.skills.skill_files import GOOD, allowed

MONITOR = '''"""Watches a few services."""
from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

import inngest
from pydantic import BaseModel, Field

from skills.kit import client

if TYPE_CHECKING:
    from decimal import Decimal

MANIFEST = {
    "title": "Monitor",
    "purpose": "watches services",
    "permissions": {
        "events": {"listen": ["service/changed", "service/fixed"], "send": ["service/slow"]},
        "invoke": ["skill-incident_triage/incident-triage"],
    },
}

NAME = re.compile(r"[a-z-]+")
STEP_FETCH = "fetch"
PAUSE = timedelta(minutes=5)
LIMITS: Mapping[str, float] = {"checkout": 0.5, "search": 2 ** 3 / 10}
LEVELS = tuple(sorted({"normal", "degraded", "critical"}))
UPPER = [level.upper() for level in LEVELS]
Level: TypeAlias = Literal["normal", "degraded", "critical"]


class Mood(Enum):
    CALM = "calm"


class Verdict(BaseModel):
    level: Level
    why: list[str] = Field(default_factory=list, max_length=5)


@dataclass(frozen=True)
class Service:
    name: str
    limit: float = 1.0
    tags: list[str] = field(default_factory=list)


SERVICES = (Service("checkout", LIMITS["checkout"]), Service("search"))


def fetch(service: Service) -> dict[str, float]:
    return {"latency": len(service.name) / 10}


def judged(seen: list[dict[str, float]], budget: Decimal | None = None) -> Verdict:
    return Verdict(level="critical" if any(one["latency"] > 1 for one in seen) else "normal")


def tell(ctx: inngest.ContextSync) -> None:
    ctx.step.run("tell", lambda: str(ctx.event.data["error"]["message"]).strip())


def settle(step: inngest.StepSync) -> None:
    step.sleep("settle", PAUSE)


@client.create_function(
    fn_id="watch",
    trigger=[
        inngest.TriggerCron(cron="TZ=Europe/Paris */30 * * * 1-5", jitter="30s"),
        inngest.TriggerEvent(event="service/changed", expression="event.data.size > 3 && event.data.name != 'x'"),
    ],
    retries=3,
    on_failure=tell,
    concurrency=[inngest.Concurrency(limit=1, key="event.data.name")],
    cancel=[inngest.Cancel(event="service/fixed", if_exp="async.data.name == event.data.name")],
)
def watch(ctx: inngest.ContextSync) -> dict[str, object]:
    seen = []
    for service in SERVICES:
        seen.append(ctx.step.run(STEP_FETCH, fetch, service))
    left, right = ctx.group.parallel(
        (lambda: ctx.step.run("left", lambda: 1), lambda: ctx.step.run("right", lambda: 2))
    )
    many = ctx.group.parallel(
        tuple(functools.partial(ctx.step.run, "again", functools.partial(fetch, one)) for one in SERVICES)
    )
    try:
        verdict = ctx.step.run("judge", lambda: judged(seen).model_dump())
    except inngest.StepError:
        verdict = {"level": "normal"}
    if verdict["level"] == "critical":
        ctx.step.send_event("raise", inngest.Event(name="service/slow", data={"services": len(seen)}))
        ctx.step.invoke_by_id(
            "triage", app_id="skill-incident_triage", function_id="incident-triage", data={"services": len(seen)}
        )
    settle(ctx.step)
    news = ctx.step.wait_for_event("fixed", event="service/fixed", timeout=timedelta(hours=1))
    total = ctx.event.data.get("size", 0) + left + right
    told = news.model_copy(update={"ts": 0}).model_dump() if news is not None else {}
    return {"verdict": verdict, "total": total, "many": len(many), "told": told}


def failed_after(ctx: inngest.ContextSync) -> str:
    return ctx.step.run("tell", lambda: "done")


after = client.create_function(fn_id="after", trigger=inngest.TriggerEvent(event="service/fixed"))(failed_after)
'''

CONSTANTS = (
    GOOD
    + """

from dataclasses import dataclass

from pydantic import BaseModel, TypeAdapter, field_validator

RAW = ["https://a.example/", "", "https://b.example/"]


@dataclass(frozen=True)
class Service:
    name: str
    host: str

    @property
    def url(self) -> str:
        return f"https://{self.host}/{self.name}"


class Item(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def lowered(cls, name: str) -> str:
        return name.lower()


HOSTS = [url.rstrip("/") for url in RAW]
NAMED = list(filter(None, RAW))
SERVICES = (Service("shop", "a.example"), Service("search", "b.example"))
BY_NAME = {one.name: one for one in SERVICES}
ITEMS = TypeAdapter(list[Item])


def urls() -> list[str]:
    return [one.url for one in SERVICES]
"""
)

KIT = (
    '{"hosts": ["a.example:9090", "my_app_1:80"], "secrets": {"TOKEN": "a.example:9090"}, "memory": "read",'
    ' "ask_agent": True, "notify": ["ops"], "model_budget_per_day": "0.50", "events": {"listen": ["text/written"]}}'
)

GOOD_ONES = {
    "the smallest": GOOD,
    "much at once": MONITOR,
    "constants with properties, names used twice": CONSTANTS,
    "an error of a library's": GOOD
    + "\n\nimport json\n\n\ndef f(text: str) -> object:\n    try:\n        return json.loads(text)\n"
    + "    except json.decoder.JSONDecodeError:\n        return None\n",
    "addresses": allowed(KIT.replace("a.example:9090", "10.0.0.7:9090")),
    "an address of six": allowed(KIT.replace("a.example:9090", "[fd00::7]:9090")),
    "a line that is excused from its types": GOOD + 'WIDTH: int = "wide"  # ty: ignore[invalid-assignment]\n',
    "an unused import": GOOD + "\n\nimport json\n",
    "an event that is handed on": GOOD.replace('len(str(ctx.event.data["text"]).split())', 'ctx.event.data["n"] + 1'),
    "its own function is invoked": GOOD
    + """
@client.create_function(fn_id="daily", trigger=inngest.TriggerCron(cron="0 8 * * *"))
def daily(ctx: inngest.ContextSync) -> int:
    return ctx.step.invoke("count", function=count, data={"text": "one two"})
""",
    "with a byte order mark": "\ufeff" + GOOD,
    "all permissions, none used": allowed(KIT),
    "after Inngest's own pages": honest_skills.ORDERS,
    "with aliases and an enum": honest_skills.WEATHER,
    "with classes and every piece of the kit": honest_skills.CERTIFICATES,
    "with functions in functions": honest_skills.TICKETS,
    "with many constants": honest_skills.COUNTER,
    "with a class that has a state": honest_skills.REPORT,
}

ONLY_TOOLS_SEE = {
    "an unknown name": (GOOD.replace("len(", "lenn("), 9, "lenn"),
    "an unknown name that a comment excuses": (
        "# ruff: noqa\n" + GOOD.replace("len(", "lenn(").rstrip() + "  # noqa\n",
        10,
        "lenn",
    ),
    "a function twice": (GOOD + "def a() -> None: ...\ndef a() -> None: ...\n", 11, "F811"),
    "an unknown step": (GOOD.replace('step.run("count"', 'step.rum("count"'), 9, "rum"),
    "a wrong argument": (GOOD.replace("retries=2", "retires=2"), 7, "retires"),
    "a wrong type": (GOOD + 'WIDTH: int = "wide"\n', 10, "types:"),
    "the SDK's types": (GOOD.replace('"count", lambda: len', "3, lambda: len"), 9, "computed"),
    "an asynchronous context": (GOOD.replace("inngest.ContextSync", "inngest.Context"), 9, "types:"),
}


def test_the_tools_are_installed() -> None:
    assert missing_programs() == []


@pytest.mark.parametrize("name", GOOD_ONES)
def test_a_good_file_passes(name: str) -> None:
    assert check_source(GOOD_ONES[name].encode(), "thing", {"other": Path("other.py")}) == []


@pytest.mark.parametrize("name", ["incident_triage", "infra_health_check"])
@pytest.mark.parametrize("address", ["", "http://10.0.0.1:9090"])
def test_what_the_scripted_model_writes_passes(name: str, address: str) -> None:
    """Given a shipped skill that it adapts, changes and repairs, the syntax tree holds nothing wrong."""
    shipped = (Path(__file__).parents[2] / f"skills/shipped/{name}.py").read_text()
    text = adapt_source(shipped, WatchWish("checkout", address, 5), 'checkout: "health"', "checkout_triage")
    text = set_numbers(text, [{"constant": "SENSITIVITY", "to": 1.5}])
    broken = "import os\n" + text
    found = tree_problems(*parse_source(broken.encode()), "checkout", {})
    assert [problem.line for problem in found] == [1]
    repaired = repair_source(broken, [{"line": one.line, "reason": one.reason} for one in found])
    assert tree_problems(*parse_source(repaired.encode()), "checkout", {}) == []


@pytest.mark.parametrize("name", ONLY_TOOLS_SEE)
def test_what_only_the_tools_see_is_a_problem_too(name: str) -> None:
    text, line, reason = ONLY_TOOLS_SEE[name]
    found = check_source(text.encode(), "thing", {})
    assert any(reason in one.reason and one.line == line for one in found), found


def test_a_file_is_never_run_by_its_checks(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    found = check_source((GOOD + f"open({str(trace)!r}, 'w')\n").encode(), "thing", {})
    assert found
    assert not trace.exists()


@pytest.mark.long
def test_a_large_and_hostile_file_is_answered_soon() -> None:
    began = time.monotonic()
    assert check_source(("x = [" + "[]," * 80_000 + "]\n").encode(), "thing", {})
    assert check_source(("def f(a: int) -> int:\n  return " + " or ".join(["f(a)"] * 30_000)).encode(), "thing", {})
    assert time.monotonic() - began < 60


def test_the_stub_beside_the_sdk_names_all_that_the_sdk_names() -> None:
    stub = Path(__file__).parents[2] / "skills/checks/stubs/inngest-stubs/_internal/types.pyi"
    public = {name for name, value in vars(sdk).items() if getattr(value, "__module__", sdk.__name__) == sdk.__name__}
    words = stub.read_text()
    assert [name for name in public if not name.startswith("_") and name not in words] == []
