"""A scripted provider for tests. It gives prepared answers, and fails when it is asked anything else."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

from generation.providers.port import InputSlot, JobNews, JobOutput, JobRequest, NotSupported, Offer, Price

Question = Literal["submit", "look_up", "status", "cancel", "fetch", "verify_callback"]
ScriptedAnswer = Any
"""A value to answer with, an exception to raise, or a function of the question that does either."""
T = TypeVar("T")
SOUNDS = Offer(
    model="scripted-sound",
    kind="audio",
    title="Scripted sounds",
    sizes=(),
    durations=(3, 5, 10),
    inputs=(),
    price=Price(Decimal("0.01"), "USD", "second"),
)
PICTURES = Offer(
    model="scripted-picture",
    kind="image",
    title="Scripted pictures",
    sizes=("1024x1024",),
    durations=(),
    inputs=(InputSlot("reference", ("image/png",), 1),),
    price=Price(Decimal("0.04"), "USD", "job"),
)


class UnexpectedCallError(AssertionError):
    """The provider was asked something for which the script has no answer."""


class ScriptedProvider:
    """Provider that gives the answers that `foresee` prepared for each kind of question, in that order.

    `asked` lists the questions that it was asked.
    """

    def __init__(
        self, name: str = "scripted", *, honours_keys: bool = True, offers: Sequence[Offer] = (SOUNDS, PICTURES)
    ) -> None:
        self._name = name
        self._honours_keys = honours_keys
        self._offers = offers
        self._foreseen: dict[str, deque[ScriptedAnswer]] = defaultdict(deque)
        self._lock = threading.Lock()
        self.asked: list[tuple[Question, Any]] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def honours_keys(self) -> bool:
        return self._honours_keys

    def foresee(self, question: Question, *answers: ScriptedAnswer) -> None:
        """Add answers to a kind of question."""
        self._foreseen[question].extend(answers)

    def offer(self, *offers: Offer) -> None:
        """Replace the offers."""
        self._offers = offers

    def forget(self) -> None:
        """Drop the answers that are left."""
        self._foreseen.clear()

    def assert_spent(self) -> None:
        """Fail when answers are left over."""
        left = {question: len(answers) for question, answers in self._foreseen.items() if answers}
        if left:
            raise AssertionError(f"scripted answers that were never asked for: {left}")

    def capabilities(self) -> Sequence[Offer]:
        return self._offers

    def submit(self, request: JobRequest) -> JobNews:
        return self._answer("submit", request, JobNews)

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        answer: JobNews | NotSupported | None = self._answer("look_up", key, object)  # type: ignore[assignment]
        return answer

    def status(self, upstream_id: str) -> JobNews:
        return self._answer("status", upstream_id, JobNews)

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        answer: JobNews | NotSupported = self._answer("cancel", upstream_id, object)  # type: ignore[assignment]
        return answer

    def fetch(self, output: JobOutput, most_bytes: int) -> bytes:
        return self._answer("fetch", output, bytes)

    def verify_callback(self, headers: Mapping[str, str], body: bytes, now: datetime) -> JobNews:
        return self._answer("verify_callback", body, JobNews)

    def _answer(self, question: Question, what: Any, kind: type[T]) -> T:
        with self._lock:
            self.asked.append((question, what))
            if not self._foreseen[question]:
                raise UnexpectedCallError(f"{question} was not foreseen: {what}")
            scripted = self._foreseen[question].popleft()
        answer = scripted(what) if isinstance(scripted, Callable) else scripted  # type: ignore[arg-type]
        if isinstance(answer, Exception):
            raise answer
        if not isinstance(answer, kind):
            raise TypeError(f"{question} cannot be answered with {answer!r}")
        return answer
