"""Simulated runs: requests are answered from a recording, and effects are listed instead of performed."""

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
    """An effect that a run would have had: its route and its request."""

    path: str
    request: Mapping[str, Any]


@dataclass
class Simulation:
    """One simulated run. With `reads_for_real`, requests without effect are performed.

    `unrecorded` are questions without a recorded answer; `reworded` are those answered as a similar one was.
    """

    recorded: Sequence[Exchange]
    reads_for_real: bool
    effects: list[SimulatedEffect] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    unrecorded: list[str] = field(default_factory=list)
    reworded: list[str] = field(default_factory=list)
    _asked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, service: BrokerService[Any], asker: Asker, path: str, request: BrokerRequest) -> ServiceAnswer:
        """Answer a request; raises RequestFailed where there is no answer."""
        has_effect = service.has_effect(request)
        if has_effect:
            with self._lock:
                if len(self.effects) < _MOST_EFFECTS:
                    self.effects.append(SimulatedEffect(path, request_words(request)))
        elif self.reads_for_real and not self._is_paid(path, request):
            return service.do(asker, request)
        is_question = isinstance(request, HttpRequest | LlmRequest) and not has_effect
        found = self.find_answer(path, request)
        if found is not None:
            if is_question and not self._is_recorded(path, request):
                self._note(self.reworded, _describe_request(request))
            return found
        if is_question:
            self._note(self.unrecorded, _describe_request(request))
            raise RequestFailed(f"the recorded run did not ask {_describe_request(request)}", retriable=False)
        return service.simulate(asker, request)

    def _is_paid(self, path: str, request: BrokerRequest) -> bool:
        """Return whether exactly this question to the model has a recorded answer, so that none need be paid for."""
        return isinstance(request, LlmRequest) and self._is_recorded(path, request)

    def _is_recorded(self, path: str, request: BrokerRequest) -> bool:
        """Return whether the recorded run made exactly this request."""
        return any(one.exactly == exact_key(path, request) for one in self.recorded)

    def note_refusal(self, detail: str) -> None:
        """Note something that the run was refused."""
        self._note(self.refused, detail)

    def _note(self, notes: list[str], text: str) -> None:
        with self._lock:
            if len(notes) < _MOST_EFFECTS:
                notes.append(text)

    def find_answer(self, path: str, request: BrokerRequest) -> ServiceAnswer | None:
        """Return the recorded answer to the same request, else to the similar request at the same position.

        Beyond the recorded ones, the last answer is repeated.
        """
        exact, similar = exact_key(path, request), similar_key(path, request)
        with self._lock:
            nth_exact, nth_similar = self._asked[exact], self._asked[similar]
            self._asked[exact] += 1
            # Positions are counted among similar requests: the third query is answered as the third one was.
            self._asked[similar] += 1
        for exchanges, n in (
            ([one for one in self.recorded if one.exactly == exact], nth_exact),
            ([one for one in self.recorded if one.nearly == similar], nth_similar),
        ):
            if exchanges:
                return exchanges[min(n, len(exchanges) - 1)].answer
        return None


def _describe_request(request: BrokerRequest) -> str:
    return (
        f"{request.method} {request.url}"
        if isinstance(request, HttpRequest)
        else f"the model for `{getattr(request, 'name', '')}`"
    )


class Simulations:
    """The simulations that are running, by skill and run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], Simulation] = {}

    def start(
        self, stem: str, run_id: str, recorded: Sequence[Exchange], *, reads_for_real: bool = False
    ) -> Simulation:
        """Start simulating a run."""
        simulation = Simulation(recorded, reads_for_real)
        with self._lock:
            self._open[stem, run_id] = simulation
        return simulation

    def end(self, stem: str, run_id: str) -> None:
        """End the simulation of a run."""
        with self._lock:
            self._open.pop((stem, run_id), None)

    def find(self, stem: str, run_id: str) -> Simulation | None:
        """Return the simulation of a run, if there is one."""
        with self._lock:
            return self._open.get((stem, run_id))
