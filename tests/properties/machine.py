"""A random life of one workspace: people, runs, providers, deaths and time, in any order."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from core.errors import LoopwrightError, UnavailableError
from generation.orders.end import cancel_order
from generation.providers.port import JobState
from generation.tables import orders
from runtime.commands import control, withdrawal
from runtime.tables import cards, tasks
from runtime.tables import messages as message_rows
from tests.properties import invariants
from tests.properties.invariants import Shadow
from tests.properties.upstream import MOODS, Mood, Upstream
from tests.properties.world import PropertyWorld, decision

NUMBER = st.integers(min_value=0, max_value=63)
SOUND = ("generate_audio", '{"prompt": "Waves", "title": "Waves", "seconds": 3}')
DEAR_SOUND = ("generate_audio", '{"prompt": "Storm", "title": "Storm", "seconds": 10}')
CALLS = st.sampled_from(
    [SOUND, SOUND, DEAR_SOUND, ("set_brief", '{"brief": "Sounds"}'), ("finish", '{"summary": "Done"}'), ("dance", "{")]
)
DECISIONS = st.lists(CALLS, max_size=3)
EDGE = st.none() | st.none() | st.integers(min_value=1, max_value=8)
MOOD = st.sampled_from(("well", "well", "well", *MOODS))
SECONDS = st.sampled_from((1, 5, 20, 31, 90, 700))
ENDS = st.sampled_from((JobState.RUNNING, JobState.SUCCEEDED, JobState.SUCCEEDED, JobState.FAILED))
SAID = st.sampled_from(tuple(JobState))
MOST_ROUNDS = 80


class Workspace(RuleBasedStateMachine):
    """Its rules act on whatever is there; a number picks among it."""

    world: PropertyWorld

    @initialize(honours_keys=st.booleans(), searchable=st.booleans())
    def begin(self, honours_keys: bool, searchable: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="properties-"))
        self.world = PropertyWorld(self.folder, Upstream(honours_keys=honours_keys, searchable=searchable))
        self.shadow = Shadow()
        self.tasks = [self.world.task().id, self.world.task().id]
        self.asked, self.checked = False, -1
        for task_id in self.tasks:
            self.world.say(task_id)
        for n in range(4):
            # The two messages, then the two turns that they queue.
            self.world.hear(n)

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        try:
            self._come_to_rest()
        finally:
            self.world.close()
            shutil.rmtree(self.folder)

    @rule(n=NUMBER)
    def say(self, n: int) -> None:
        self._tick()
        self.world.say(self._one(self.tasks, n))

    @rule(n=NUMBER, replaced=st.booleans())
    def take_back(self, n: int, replaced: bool) -> None:
        self._tick()
        mine = [row for row in self.world.rows(message_rows) if row.author == "user"]
        message_id = self._one(mine, n).id
        try:
            self.world.write(
                lambda scope: (
                    withdrawal.replace_message(
                        scope, message_id, "Another one", person_id=self.world.store.person_id, speaks_as="person"
                    )
                    if replaced
                    else withdrawal.withdraw_message(scope, message_id)
                )
            )
        except LoopwrightError:
            return

    @precondition(lambda self: self.world.bells.rung)
    @rule(n=NUMBER, late=st.booleans())
    def hear(self, n: int, late: bool) -> None:
        """The newest bells first, or any that was ever rung: late, again, out of order."""
        self._tick()
        rung = len(self.world.bells.rung)
        self.world.hear(n % rung if late else rung - 1 - n % min(3, rung))

    @precondition(lambda self: self.world.runs)
    @rule(n=NUMBER, calls=DECISIONS, mood=MOOD, die_at=EDGE, model_is_away=st.booleans())
    def step(self, n: int, calls: list[tuple[str, str]], mood: Mood, die_at: int | None, model_is_away: bool) -> None:
        self._tick()
        away = model_is_away and mood == "away"
        said = UnavailableError("the model is away") if away else decision(calls)
        self.world.step(self._one(self.world.runs, n), said, mood, die_at)

    @precondition(lambda self: self.world.runs)
    @rule(n=NUMBER, calls=DECISIONS)
    def work_on(self, n: int, calls: list[tuple[str, str]]) -> None:
        """Several steps of one run without trouble, so that a life gets somewhere."""
        run = self._one(self.world.runs, n)
        for _ in range(12):
            if run in self.world.runs:
                self._tick()
                self.world.step(run, decision(calls), "well")

    @precondition(lambda self: self.world.runs)
    @rule(n=NUMBER)
    def lose(self, n: int) -> None:
        """The engine forgets a run."""
        self.world.runs.remove(self._one(self.world.runs, n))

    @rule(seconds=SECONDS, watched=st.booleans())
    def wait(self, seconds: int, watched: bool) -> None:
        """Time goes by: leases die, bells grow old; the watch may come by or not."""
        self.world.store.clock.advance(timedelta(seconds=seconds))
        if watched:
            self.world.watch()

    @precondition(lambda self: self.world.upstream.jobs)
    @rule(n=NUMBER, to=ENDS)
    def job_goes_on(self, n: int, to: JobState) -> None:
        self._one(self.world.upstream.jobs, n).go_on(to)

    @precondition(lambda self: self.world.upstream.jobs)
    @rule(n=NUMBER, said=SAID, sequence=st.integers(0, 5), times=st.integers(1, 2))
    def callback(self, n: int, said: JobState, sequence: int, times: int) -> None:
        """The word of a callback need not be true, and may come twice."""
        job = self._one(self.world.upstream.jobs, n)
        for _ in range(times):
            self.world.callback(job.news(state=said, sequence=sequence, progress=sequence / 10))

    @precondition(lambda self: self.asked)
    @rule(n=NUMBER, choice=st.integers(0, 3))
    def answer_card(self, n: int, choice: int) -> None:
        self._tick()
        card = self._one(self.world.cards(), n)
        self.world.answer(card, str(self._one(card.options, 1 if choice == 3 else 0)["id"]))
        self._note_stops()

    @rule(
        n=NUMBER,
        wish=st.sampled_from((control.pause_task, control.resume_task, control.resume_task, control.stop_task)),
    )
    def command(self, n: int, wish: Any) -> None:
        self._tick()
        task_id = self._one(self.tasks, n)
        try:
            self.world.write(lambda scope: wish(scope, task_id))
        except LoopwrightError:
            return
        self._note_stops()

    @rule(n=NUMBER)
    def cancel_order(self, n: int) -> None:
        self._tick()
        ordered = self.world.rows(orders)
        if ordered:
            self.world.write(lambda scope: cancel_order(scope, self._one(ordered, n).id))

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "world") or self.world.database.begun == self.checked:
            return
        self.checked = self.world.database.begun
        invariants.check_money(self.world)
        invariants.check_orders(self.world)
        invariants.check_ends(self.world, self.shadow)
        invariants.check_messages(self.world, self.shadow)
        invariants.check_turns(self.world, self.shadow)
        invariants.check_blocked(self.world)
        self.asked = any(row.state == "open" for row in self.world.rows(cards))

    def _come_to_rest(self) -> None:
        """Everything works again. Only bells that are rung from now on are heard: somebody must ring for all."""
        self.world.runs.clear()
        heard = len(self.world.bells.rung)
        for n in range(MOST_ROUNDS):
            self.world.store.clock.advance(timedelta(seconds=30 if n < MOST_ROUNDS // 2 else 600))
            self.world.watch()
            for job in self.world.upstream.jobs:
                job.go_on(JobState.SUCCEEDED)
            for card in self.world.cards():
                self.world.answer(card, "stop" if card.kind in ("limit", "blocked") else str(card.options[0]["id"]))
            self._resume_all()
            while heard < len(self.world.bells.rung):
                self.world.hear(heard)
                heard += 1
            self._run_all()
            if self._is_quiet():
                break
        self._note_stops()
        self.holds()
        invariants.check_quiet(self.world)

    def _run_all(self) -> None:
        for _ in range(200):
            if not self.world.runs:
                break
            for run in list(self.world.runs):
                before = vars(run).copy()
                self.world.step(run, decision([]), "well")
                if run in self.world.runs and vars(run) == before:
                    # It waits for a lease or for news; the watch rings again if it is lost.
                    self.world.runs.remove(run)

    def _resume_all(self) -> None:
        for row in self.world.rows(tasks):
            if row.status == "paused":
                self._resume(row.id)

    def _resume(self, task_id: str) -> None:
        self.world.write(lambda scope: control.resume_task(scope, task_id))

    def _is_quiet(self) -> bool:
        try:
            invariants.check_quiet(self.world)
        except AssertionError:
            return False
        return not self.world.cards()

    def _note_stops(self) -> None:
        count: dict[str, int] = {}
        for row in self.world.rows(orders):
            count[row.task_id] = count.get(row.task_id, 0) + 1
        for row in self.world.rows(tasks):
            if row.status == "stopped":
                self.shadow.orders_at_stop.setdefault(row.id, count.get(row.id, 0))

    def _tick(self) -> None:
        self.world.store.clock.advance(timedelta(milliseconds=10))

    @staticmethod
    def _one(some: Any, n: int) -> Any:
        return some[n % len(some)]
