"""How a case is written down: a function, the events for it, and a diary of what it did."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import inngest

Did = Callable[..., Any]
"""`did(step, value=None)`: note that the step is executed, with the attempt's number; returns the value."""
Handler = Callable[[inngest.ContextSync, Did], object]


@dataclass(frozen=True)
class Later:
    """An event that is sent once the diary of the case has the entry `after`."""

    after: str
    name: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`events` are sent in quick succession, `later` as it says; `runs` is how many runs are to come of
    `events`."""

    name: str
    events: Sequence[dict[str, Any]]
    later: Sequence[Later] = ()
    runs: int = 1
    ordered: bool = True
    """Whether the order of the diary means something."""


@dataclass(frozen=True)
class End:
    """What the event `inngest/function.finished` tells of a run; `events` are the ids of those that started it."""

    run_id: str
    status: str
    result: Any
    events: Sequence[str]


@dataclass
class Kit:
    """Cases of one app; each is triggered by the event `<app>/<case>`."""

    client: inngest.Inngest
    cases: list[Case] = field(default_factory=list)
    functions: list[inngest.Function[Any]] = field(default_factory=list)
    _ends: dict[str, dict[str, End]] = field(default_factory=dict)
    _diary: dict[str, list[list[Any]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def event(self, name: str) -> str:
        return f"{self.client.app_id}/{name}"

    def note(self, case: str, entry: str, attempt: int) -> None:
        with self._lock:
            self._diary.setdefault(case, []).append([entry, attempt])

    def diary(self, case: str) -> list[list[Any]]:
        with self._lock:
            return list(self._diary.get(case, []))

    def watch(self) -> None:
        """Register the function that hears of the end of every run; what servers list of runs may lag behind."""

        def hear(ctx: inngest.ContextSync) -> None:
            told: Any = ctx.event.data
            app, _, case = str(told["function_id"]).partition("-")
            if app == self.client.app_id:
                error = told.get("error")
                result = {key: error.get(key) for key in ("name", "message")} if error else told.get("result")
                ids = [str(event["id"]) for event in told.get("events") or [told["event"]]]
                with self._lock:
                    ends = self._ends.setdefault(case, {})
                    ends[told["run_id"]] = End(told["run_id"], told["_inngest"]["status"], result, ids)

        trigger = inngest.TriggerEvent(event="inngest/function.finished")
        self.functions.append(self.client.create_function(fn_id="watch", trigger=trigger)(hear))

    def ends(self, case: str) -> list[End]:
        """By time of start."""
        with self._lock:
            return sorted(self._ends.get(case, {}).values(), key=lambda end: end.run_id)

    def function(self, name: str, case: str, handler: Handler, **options: Any) -> inngest.Function[Any]:
        """Register a function that is no case of its own but notes in that case's diary."""

        def run(ctx: inngest.ContextSync) -> Any:
            def did(entry: str, value: Any = None) -> Any:
                self.note(case, entry, ctx.attempt)
                return value

            return handler(ctx, did)

        options.setdefault("trigger", inngest.TriggerEvent(event=self.event(name)))
        options.setdefault("retries", 0)
        function = self.client.create_function(fn_id=name, **options)(run)
        self.functions.append(function)
        return function

    def case(
        self,
        name: str,
        *events: dict[str, Any],
        later: Sequence[Later] = (),
        runs: int = 1,
        ordered: bool = True,
        **options: Any,
    ) -> Callable[[Handler], Handler]:
        """Events are the data of `<app>/<case>`, or whole events when they have a `name`."""

        def add(handler: Handler) -> Handler:
            sent = [one if "name" in one else {"name": self.event(name), "data": one} for one in events or ({},)]
            self.cases.append(Case(name, sent, later, runs, ordered))
            self.function(name, name, handler, **options)
            return handler

        return add
