"""Skills as different authors write them: after Inngest's own pages, with classes, with aliases, in one long file."""

ORDERS = '''from inngest import (
    ContextSync,
    Event,
    NonRetriableError,
    RetryAfterError,
    StepError,
    TriggerCron,
    TriggerEvent,
    Batch,
    Throttle,
    Debounce,
    RateLimit,
    Priority,
    Singleton,
    Timeouts,
    Cancel,
    Concurrency,
)
import datetime
import logging
from datetime import timedelta

from skills import kit
from skills.kit import client

MANIFEST = {
    "title": "Orders",
    "purpose": "imports orders",
    "permissions": {
        "events": {"listen": ["shop/order.placed", "shop/order.cancelled"], "send": ["shop/order.imported"]},
        "hosts": ["api.shop.example"],
        "secrets": {"SHOP_TOKEN": "api.shop.example"},
    },
}
logger = logging.getLogger(__name__)
API = "https://api.shop.example/v1"
PAGE_SIZE = 100


def _page(cursor: str | None) -> dict:
    params = {"limit": str(PAGE_SIZE)}
    if cursor:
        params["cursor"] = cursor
    response = kit.http.get(f"{API}/orders", params=params, headers={"authorization": kit.secrets["SHOP_TOKEN"]})
    response.raise_for_status()
    return response.json()


@client.create_function(
    fn_id="import-orders",
    trigger=[
        TriggerCron(cron="0 3 * * *"),
        TriggerEvent(event="shop/order.placed", expression="event.data.total > 10"),
    ],
    throttle=Throttle(limit=10, period=timedelta(minutes=1), burst=2, key="event.data.shop"),
    rate_limit=None,
    priority=Priority(run="event.data.vip ? 100 : 0"),
    timeouts=Timeouts(start=timedelta(minutes=5), finish=timedelta(hours=1)),
    cancel=[
        Cancel(event="shop/order.cancelled", if_exp="event.data.id == async.data.id", timeout=timedelta(hours=1))
    ],
    concurrency=[Concurrency(limit=1)],
    idempotency="event.data.id",
)
def import_orders(ctx: ContextSync) -> int:
    """Walks all pages."""
    cursor: str | None = None
    total = 0
    while True:
        page = ctx.step.run("fetch-page", _page, cursor)
        orders = page["orders"]
        total += len(orders)
        cursor = page.get("next")
        if cursor is None:
            break
        ctx.step.sleep("pause", datetime.timedelta(seconds=2))
    ctx.logger.info("imported %d", total)
    logger.info("done")
    if total > 10_000:
        raise NonRetriableError("too many")
    ids = ctx.step.send_event("announce", [Event(name="shop/order.imported", data={"n": n}) for n in range(3)])
    return total + len(ids)


@client.create_function(
    fn_id="batched",
    trigger=TriggerEvent(event="shop/order.placed"),
    batch_events=Batch(max_size=50, timeout=timedelta(seconds=10)),
)
def batched(ctx: ContextSync) -> list[str]:
    names = [str(event.data["name"]) for event in ctx.events]

    def store() -> int:
        if not names:
            raise RetryAfterError("later", timedelta(minutes=1))
        return len(names)

    try:
        ctx.step.run("store", store)
    except StepError as err:
        ctx.logger.warning(str(err))
    return sorted(set(names))


@client.create_function(
    fn_id="debounced",
    trigger=TriggerEvent(event="shop/order.placed"),
    debounce=Debounce(period=timedelta(seconds=5), key="event.data.id"),
    singleton=Singleton(key="event.data.id", mode="skip"),
)
def debounced(ctx: ContextSync) -> dict:
    step = ctx.step
    found = step.wait_for_event(
        "wait-cancel",
        event="shop/order.cancelled",
        if_exp="event.data.id == async.data.id",
        timeout=timedelta(days=2),
    )
    if found is None:
        return {"cancelled": False}
    when = datetime.datetime.now(tz=datetime.UTC) + timedelta(hours=1)
    step.sleep_until("till", when)
    result = step.invoke("again", function=import_orders, data={"x": 1})
    return {"cancelled": True, "n": result, "why": found.data.get("why")}
'''

WEATHER = '''"""Weather digest: every morning."""

from __future__ import annotations

import functools
import statistics
import typing
from enum import StrEnum
from typing import Any, NamedTuple, TypedDict, cast
from zoneinfo import ZoneInfo

import inngest as ig
import pydantic

import skills.kit as kit

MANIFEST: dict[str, Any] = {
    "title": "Weather digest",
    "purpose": "mails a digest",
    "permissions": {
        "hosts": ["api.weather.example:443"],
        "notify": ["family"],
        "model_budget_per_day": "0.20",
    },
}

CITIES: typing.Final = {"Paris": (48.85, 2.35), "Lima": (-12.04, -77.03)}
TZ = ZoneInfo("Europe/Paris")


class Level(StrEnum):
    GOOD = "good"
    BAD = "bad"


class Reading(NamedTuple):
    city: str
    degrees: float


class Raw(TypedDict, total=False):
    temp: float
    wind: float


class Digest(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")
    text: str = pydantic.Field(max_length=500)
    level: Level = Level.GOOD


def fetch(city: str) -> Raw:
    lat, lon = CITIES[city]
    url = f"https://api.weather.example:443/v1?lat={lat}&lon={lon}"
    return cast(Raw, kit.http.get(url).json())


def reading(city: str, raw: Raw) -> Reading:
    return Reading(city, raw.get("temp", 0.0))


def summarize(readings: list[Reading]) -> Digest:
    try:
        return kit.llm("Summarise the weather", schema=Digest, facts={r.city: r.degrees for r in readings})
    except kit.Unavailable:
        return Digest(text=", ".join(f"{r.city}: {r.degrees:.0f}" for r in readings))


@kit.client.create_function(
    fn_id="digest", trigger=ig.TriggerCron(cron="TZ=Europe/Paris 0 7 * * MON-FRI"), name="Morning digest"
)
def digest(ctx: ig.ContextSync) -> str:
    raws = ctx.group.parallel(
        tuple(functools.partial(ctx.step.run, "fetch", functools.partial(fetch, city)) for city in CITIES)
    )
    readings = [reading(city, raw) for city, raw in zip(CITIES, raws, strict=True)]
    mean = statistics.fmean(r.degrees for r in readings)
    found = ctx.step.run("summarize", lambda: summarize(readings).model_dump(mode="json"))
    verdict = Digest.model_validate(found)
    match verdict.level:
        case Level.GOOD:
            mood = "sunny"
        case _:
            mood = "grey"
    ctx.step.run(
        "tell", functools.partial(kit.notify, "family", f"{mood} ({mean:.1f}): {verdict.text}", key=ctx.run_id)
    )
    return verdict.text
'''

CERTIFICATES = '''import inngest
from skills.kit import client, http, claim, release, runs, ask_agent, memory, notify
from contextlib import suppress
from dataclasses import dataclass, asdict, field
import re, json, hashlib, random, uuid, time
from datetime import datetime, timezone, timedelta

MANIFEST = {
    "title": "Certs",
    "purpose": "Watches certificate expiry",
    "permissions": {
        "hosts": ["certs.example"],
        "notify": ["ops"],
        "ask_agent": True,
        "memory": "read",
        "events": {"listen": ["certs/check"], "send": []},
    },
}

WARN_DAYS = [30, 14, 7]
_DOMAIN = re.compile(r"^[a-z0-9.-]+$", re.I)
DEFAULTS = {"domains": ["a.example", "b.example"]}
SCHEMA = json.loads('{"type": "object"}')
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
THRESHOLDS = {name: days * 2 for name, days in zip(("low", "high"), (1, 2))}
BIG = 10**6
GREETING = "hello {}".format("you")
JOINED = ", ".join(DEFAULTS["domains"])


@dataclass
class Cert:
    domain: str
    days: int = 0
    tags: list[str] = field(default_factory=list)

    @property
    def urgent(self) -> bool:
        return self.days < min(WARN_DAYS)

    def describe(self) -> str:
        return f"{self.domain}: {self.days} days"

    @classmethod
    def parse(cls, raw: dict) -> "Cert":
        return cls(domain=raw["domain"], days=int(raw["days"]))

    def __str__(self) -> str:
        return self.describe()


class CertError(Exception):
    """Raised when a cert cannot be read."""


def load(domain: str) -> dict:
    if not _DOMAIN.match(domain):
        raise CertError(domain)
    res = http.get("https://certs.example/" + domain, timeout=5)
    if res.status == 404:
        return {"domain": domain, "days": -1}
    return res.raise_for_status().json()


def handle(ctx: inngest.ContextSync, cert: Cert) -> None:
    if cert.urgent:
        ctx.step.run("tell-urgent", notify, "ops", str(cert))


def on_fail(ctx: inngest.ContextSync) -> None:
    error = ctx.event.data["error"]
    ctx.step.run("tell-failure", lambda: notify("ops", f"certs failed: {error}"))


@client.create_function(
    fn_id="check_certs", trigger=inngest.TriggerEvent(event="certs/check"), on_failure=on_fail, retries=0
)
def check_certs(ctx: inngest.ContextSync) -> list[dict]:
    domains = ctx.event.data.get("domains") or DEFAULTS["domains"]
    assert isinstance(domains, list)
    if not ctx.step.run("claim", lambda: claim("certs", minutes=10)):
        return []
    out = []
    for i, domain in enumerate(domains):
        with suppress(inngest.StepError):
            raw = ctx.step.run("load", load, str(domain))
            cert = Cert.parse(raw)
            handle(ctx, cert)
            out.append(asdict(cert))
    seen = ctx.step.run("before", lambda: [r.output for r in runs(5)])
    facts = ctx.step.run("remember", lambda: [one.text for one in memory.search("certificates")])
    nonce = ctx.step.run("nonce", lambda: str(uuid.uuid4()))
    jitter = ctx.step.run("jitter", lambda: random.random())
    if any(c["days"] < 0 for c in out):
        ctx.step.run(
            "ask",
            lambda: ask_agent("A certificate is missing", key=hashlib.sha256(json.dumps(out).encode()).hexdigest()),
        )
    ctx.step.run("release", lambda: release("certs"))
    return [*out, {"seen": len(seen), "facts": len(facts), "nonce": nonce, "jitter": jitter, "at": time.time() > 0}]
'''

TICKETS = '''import inngest
from skills.kit import client, http, llm, notify
from pydantic import BaseModel

MANIFEST = {
    "title": "Inbox triage",
    "purpose": ("Sorts tickets by urgency."),
    "permissions": {
        "events": {"listen": ["tickets/new", "tickets/closed"]},
        "model_budget_per_day": "1",
        "notify": ["support"],
        "hosts": ["tickets.example:8080"],
        "invoke": ["skill-incident_triage/incident-triage"],
    },
}


class Ticket(BaseModel):
    id: int
    subject: str
    body: str = ""
    tags: list[str] = []


class Verdict(BaseModel):
    urgency: int
    reason: str


PROMPT = """
Judge how urgent the ticket is, from 1 to 5.
"""


def judge(ticket: Ticket) -> dict[str, object]:
    verdict = llm(PROMPT, schema=Verdict, facts=ticket.model_dump())
    return verdict.model_dump()


class Triage:
    """Groups the helpers."""

    limit = 3

    @staticmethod
    def is_urgent(verdict: dict[str, object]) -> bool:
        return int(str(verdict["urgency"])) >= Triage.limit


@client.create_function(
    fn_id="triage",
    trigger=inngest.TriggerEvent(event="tickets/new"),
    concurrency=[inngest.Concurrency(limit=5), inngest.Concurrency(limit=1, key="event.data.customer", scope="fn")],
    retries=4,
)
def triage(ctx: inngest.ContextSync) -> str:
    ticket = Ticket.model_validate(ctx.event.data)
    verdict = ctx.step.run("judge", lambda: judge(ticket))
    if Triage.is_urgent(verdict):

        def tell():
            return notify("support", f"#{ticket.id} {ticket.subject}", ask=("urgent", "not urgent"))

        ctx.step.run("tell", tell)
        closed = ctx.step.wait_for_event(
            "closed",
            event="tickets/closed",
            if_exp=f"async.data.id == {ticket.id}",
            timeout=3_600_000,
        )
        if not closed:
            ctx.step.invoke_by_id(
                "escalate", app_id="skill-incident_triage", function_id="incident-triage", data={"ticket": ticket.id}
            )
            return "escalated"
    url = "http://tickets.example:8080/tickets/%d" % ticket.id
    response = ctx.step.run("tag", lambda: http.patch(url, json={"tags": ticket.tags + ["triaged"]}).status)
    return f"done {response}"
'''

COUNTER = '''#!/usr/bin/env python3
# -*- coding: utf-8 -*-
"""Counts things."""

__all__ = ["count"]
__version__ = "1.0"

import inngest

from skills.kit import client

MANIFEST = {"title": "Counter", "purpose": "Counts", "permissions": {"events": {"listen": ["count/me"]}}}

WEIGHTS = dict(a=1, b=2)
KEYS = list(WEIGHTS)
TOTAL = sum(WEIGHTS.values())
PAIRS = [(k, v) for k, v in WEIGHTS.items() if v > 1]
NAMES = frozenset({"x", "y"}) | {"z"}
LOOKUP = {k: i for i, k in enumerate(sorted(WEIGHTS))}
A, B = 1, 2
X = Y = 3
T: "list[int]" = [1]
DEBUG = False and True
MODE = "fast" if TOTAL > 2 else "slow"
add = lambda a, b: a + b  # noqa: E731


def count(n: int, *, by: int = X) -> int:
    def inner(m: int) -> int:
        return m + by

    return inner(n) if n else 0


trigger = inngest.TriggerEvent(event="count/me")


@client.create_function(fn_id="count", trigger=trigger)
def count_fn(ctx: inngest.ContextSync) -> int:
    n = int(str(ctx.event.data.get("n", 0)))
    if (m := n * 2) > 4:
        n = m
    a, b = ctx.group.parallel(
        (
            lambda: ctx.step.run("one", lambda: count(n)),
            lambda: ctx.step.run("two", lambda: add(n, 1)),
        )
    )
    return a + b


if __name__ == "__main__":
    print(count(3))
'''

REPORT = '''"""Nightly report."""

from collections import Counter, defaultdict
from decimal import Decimal
from inngest import ContextSync, TriggerCron
import inngest
from skills.kit import client, http, notify, Unavailable

MANIFEST = {
    "title": "Report",
    "purpose": "Nightly sales report",
    "permissions": {"hosts": ["[::1]:9000", "127.0.0.1:9000"], "notify": ["sales"]},
}


class Source:
    def __init__(self, base: str) -> None:
        self.base = base

    def get(self, path: str) -> http.Answer:
        return http.get(f"{self.base}{path}")


def rows() -> list[dict[str, str]]:
    source = Source("http://127.0.0.1:9000")
    answer = source.get("/rows")
    if not answer.ok:
        raise Unavailable("no rows")
    return answer.json()


def total(rows: list[dict[str, str]]) -> str:
    by = defaultdict(Decimal)
    for row in rows:
        by[row["shop"]] += Decimal(row["total"])
    return str(max(by.values(), default=Decimal(0)))


@client.create_function(fn_id="report", trigger=TriggerCron(cron="TZ=America/New_York 30 1 * * *", jitter="2m"))
def report(ctx: ContextSync) -> dict[str, str]:
    found = ctx.step.run("rows", rows)
    counted = Counter(row["shop"] for row in found)
    text = f"best {total(found)} of {counted.most_common(1)}"
    ctx.step.run("tell", lambda: notify("sales", text))
    return {"text": text}
'''
