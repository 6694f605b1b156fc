"""Simulated runs: requests are answered from a recording, and effects are listed instead of made."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sidecar.broker.errors import RequestFailed
from sidecar.broker.recordings import Exchange, exact_key, request_words, similar_key
from sidecar.broker.requests import BrokerRequest, HttpRequest, LlmRequest
from sidecar.broker.service import Asker, BrokerService, ServiceAnswer

_MOST_EFFECTS = 500


@dataclass(frozen=True)
class SimulatedEffect:
    """What a run would have done: `path` says of what kind, `ask` what."""

    path: str
    ask: Mapping[str, Any]


@dataclass
class Simulation:
    """One run that pretends. `reads_for_real`: what has no effect is done, not looked up.

    `unrecorded` are questions without an answer, `reworded` those that were answered as one like them was.
    """

    recorded: Sequence[Exchange]
    reads_for_real: bool
    effects: list[SimulatedEffect] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unrecorded: list[str] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)
    _taken: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, act: BrokerService[Any], asker: Asker, path: str, ask: BrokerRequest) -> ServiceAnswer:
        """Raises Failed where there is no answer."""
        has_effect = act.has_effect(ask)
        if has_effect:
            with self._lock:
                if len(self.effects) < _MOST_EFFECTS:
                    self.effects.append(SimulatedEffect(path, request_words(ask)))
        elif self.reads_for_real and not self._costs_again(path, ask):
            return act.do(asker, ask)
        found, is_question = self.found(path, ask), isinstance(ask, HttpRequest | LlmRequest) and not has_effect
        if found is not None:
            if is_question and not self._is_recorded(path, ask):
                self._note(self.reworded, _describe_request(ask))
            return found
        if is_question:
            self._note(self.unrecorded, _describe_request(ask))
            raise RequestFailed(f"the recorded run did not ask {_describe_request(ask)}", retriable=False)
        return act.pretend(asker, ask)

    def _costs_again(self, path: str, ask: BrokerRequest) -> bool:
        """The very question that the model has answered is not paid for twice."""
        return isinstance(ask, LlmRequest) and self._is_recorded(path, ask)

    def _is_recorded(self, path: str, ask: BrokerRequest) -> bool:
        """Whether the same was asked in the same words."""
        return any(one.exactly == exact_key(path, ask) for one in self.recorded)

    def note_refusal(self, detail: str) -> None:
        self._note(self.refused, detail)

    def _note(self, notes: list[str], text: str) -> None:
        with self._lock:
            if len(notes) < _MOST_EFFECTS:
                notes.append(text)

    def found(self, path: str, ask: BrokerRequest) -> ServiceAnswer | None:
        """What the same request was answered, else what was answered to the one like it that stood in its place.

        Beyond what was recorded the last answer is given again.
        """
        same, like = exact_key(path, ask), similar_key(path, ask)
        with self._lock:
            nth, place = self._taken[same], self._taken[like]
            self._taken[same] += 1
            # Every request takes its place among those like it: the third query of four answers the third.
            self._taken[like] += 1
        for among, n in (
            ([one for one in self.recorded if one.exactly == same], nth),
            ([one for one in self.recorded if one.nearly == like], place),
        ):
            if among:
                return among[min(n, len(among) - 1)].answer
        return None


def _describe_request(ask: BrokerRequest) -> str:
    return f"{ask.method} {ask.url}" if isinstance(ask, HttpRequest) else f"the model for `{getattr(ask, 'name', '')}`"


class Simulations:
    """Those that go on now, by skill and run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], Simulation] = {}

    def begin(
        self, stem: str, run_id: str, recorded: Sequence[Exchange], *, reads_for_real: bool = False
    ) -> Simulation:
        pretence = Simulation(recorded, reads_for_real)
        with self._lock:
            self._open[stem, run_id] = pretence
        return pretence

    def end(self, stem: str, run_id: str) -> None:
        with self._lock:
            self._open.pop((stem, run_id), None)

    def find(self, stem: str, run_id: str) -> Simulation | None:
        with self._lock:
            return self._open.get((stem, run_id))
