"""A chaos run: people at work, processes killed, a studio that misbehaves; then rest, and the audit."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.chaos.api_view import read_api
from tests.chaos.audit import Audit, audit
from tests.chaos.people import People
from tests.chaos.studio import OwnStudio
from tests.chaos.timeline import Act, Kind, timeline
from tests.support.product import Product

Say = Callable[[str], None]
MOST_QUIET_SECONDS = 420
_TAIL_OF_LOGS = 40
_SETTINGS = {
    # A film of three seconds costs 0.15: dear enough for a card, cheap enough for two cores.
    "LOOPWRIGHT_FREE_PER_OPERATION": "0.10",
    "LOOPWRIGHT_FREE_PER_DAY": "50.00",
}


@dataclass(frozen=True)
class Chaos:
    """What was done, how long the rest took, and what the auditor found."""

    seed: int
    seconds: float
    quiet_after: float
    kills: Counter[str]
    faults: Counter[str]
    audit: Audit


def run_chaos(home: Path, seed: int, seconds: float, say: Say, engine: str = "embedded") -> Chaos:
    """One run in an empty folder. Raises AssertionError only where the run itself cannot go on."""
    studio = OwnStudio(home / "own-studio").start()
    product = Product(home / "home", engine, {**studio.settings, **_SETTINGS})
    try:
        product.start()
        say(f"seed {seed}, {seconds:.0f} s, home {product.home}")
        return _run(product, studio, seed, seconds, say)
    finally:
        if hasattr(product, "client"):
            product.stop()
        studio.close()


def _run(product: Product, studio: OwnStudio, seed: int, seconds: float, say: Say) -> Chaos:
    people = People(product, random.Random(seed + 1))
    done = _Doing(product, studio, people, say)
    began = time.monotonic()
    for act in timeline(seed, seconds):
        while time.monotonic() - began < act.at:
            people.answer_cards()
            time.sleep(min(0.5, max(0.0, act.at - (time.monotonic() - began))))
        done.do(act, time.monotonic() - began)
    studio.heal()
    say(f"{time.monotonic() - began:5.1f} s  nothing is killed any more")
    rested = _rest(product, people, say)
    return Chaos(seed, seconds, rested, done.kills, done.faults, audit(read_api(product, people.posted, studio.bill())))


class _Doing:
    """Carries out one act after the other and counts them."""

    def __init__(self, product: Product, studio: OwnStudio, people: People, say: Say) -> None:
        self._product = product
        self._studio = studio
        self._people = people
        self._say = say
        self.kills: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()

    def do(self, act: Act, now: float) -> None:
        self._say(f"{now:5.1f} s  {act.kind.value} {act.what} {self._done(act)}".rstrip())

    def _done(self, act: Act) -> str:
        match act.kind:
            case Kind.SAY:
                return self._people.say(act.what)
            case Kind.FOLLOW_UP:
                return self._people.follow_up()
            case Kind.STOP:
                return self._people.stop()
            case Kind.WITHDRAW:
                return self._people.withdraw(f"Write a short note about hour {now_name(len(self._people.posted))}.")
            case Kind.KILL:
                return self._kill(act.what)
            case Kind.FAULT:
                taken = self._studio.misbehave(act.what)
                self.faults[act.what] += taken
                return "" if taken else "(the studio is down)"

    def _kill(self, name: str) -> str:
        self.kills[name] += 1
        if name == "studio":
            self._studio.kill()
            return ""
        pid = self._product.row(name).pid
        if pid is None:
            self.kills[name] -= 1
            return "(is down)"
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return "(died before)"
        return f"pid {pid}"


def now_name(n: int) -> str:
    """A word that stands in no other text."""
    return ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"][n % 10] + f"-{n}"


def _rest(product: Product, people: People, say: Say) -> float:
    """Answer cards until nothing is under way; the seconds it took. What never comes to rest is the auditor's."""
    began = time.monotonic()
    calm = 0
    while calm < 3 and time.monotonic() - began < MOST_QUIET_SECONDS:
        under_way = people.answer_cards() + _under_way(product, people)
        calm = calm + 1 if not under_way else 0
        time.sleep(1)
    taken = time.monotonic() - began
    say(f"at rest after {taken:.0f} s" if calm else f"not at rest after {taken:.0f} s\n{product.logs(_TAIL_OF_LOGS)}")
    return taken


def _under_way(product: Product, people: People) -> int:
    """How many tasks are at work or waiting for something made, and how many messages nobody has read."""
    try:
        busy = len(product.items("/api/v1/tasks", status="active,waiting", limit="200"))
        if busy:
            return busy
        states = [product.get(f"/api/v1/messages/{message_id}")["state"] for message_id in people.posted]
        stopped = {task["id"] for task in product.items("/api/v1/tasks", status="stopped", limit="200")}
        ends = [
            order["state"] for task_id in stopped for order in product.get(f"/api/v1/tasks/{task_id}")["generations"]
        ]
    except httpx.TransportError:
        return 1
    unread = sum(state in ("received", "routed") for state in states)
    return unread + sum(end in ("ordered", "submitting", "queued", "running") for end in ends)
