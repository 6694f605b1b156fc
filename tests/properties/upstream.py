"""What is true at the provider: its jobs and what it has charged for them, whatever it says about it."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from core.errors import InvalidError, RefusedError, UnavailableError, UnclearError
from generation.providers.port import (
    NOT_SUPPORTED,
    JobLostError,
    JobNews,
    JobOutput,
    JobRequest,
    JobState,
    NotAcceptedError,
)
from generation.providers.scripted import SOUNDS, ScriptedProvider

Mood = Literal["well", "unclear, made", "unclear, not made", "away", "refuses", "unknown word", "lost", "nonsense"]
MOODS: tuple[Mood, ...] = (
    "well", "unclear, made", "unclear, not made", "away", "refuses", "unknown word", "lost", "nonsense",
)  # fmt: skip


def _wav() -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\x00\x10" * 8000)
    return made.getvalue()


SOUND = _wav()


@dataclass
class Job:
    """`charges` counts how often it was put on the bill."""

    id: str
    key: str
    cost: Decimal
    state: JobState = JobState.QUEUED
    charges: int = 0

    @property
    def final(self) -> bool:
        return self.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)

    def go_on(self, to: JobState) -> None:
        if self.final:
            return
        self.state = to
        self.charges += to is JobState.SUCCEEDED

    def news(self, **said: Any) -> JobNews:
        done = self.state is JobState.SUCCEEDED
        outputs = (JobOutput("audio/wav", url=f"https://provider.example/{self.id}"),) if done else ()
        told = {"state": self.state, "outputs": outputs, "cost": self.cost if done else None, "currency": "USD"}
        return JobNews(self.id, **{**told, **said})


class Upstream:
    """A provider that honours keys or not, and can be searched by key or not."""

    def __init__(self, *, honours_keys: bool, searchable: bool) -> None:
        self.provider = ScriptedProvider(honours_keys=honours_keys)
        self._searchable = searchable
        self.jobs: list[Job] = []

    def be(self, mood: Mood) -> None:
        """How it answers from now on."""
        self.provider.forget()
        tell = self.provider.foresee
        tell("submit", *[lambda request: self._submit(request, mood)] * 2)
        tell("look_up", *[lambda key: self._look_up(key, mood)] * 4)
        tell("status", *[lambda job_id: self._status(job_id, mood)] * 2)
        tell("cancel", *[lambda job_id: self._cancel(job_id, mood)] * 2)
        tell("fetch", *[lambda _output: UnavailableError("away") if mood == "away" else SOUND] * 4)

    def callback(self, news: JobNews, take: Callable[[], object]) -> None:
        """Have a callback taken in; its signature is right, its word need not be."""
        self.provider.forget()
        self.provider.foresee("verify_callback", news)
        take()
        self.provider.assert_spent()

    def _submit(self, request: JobRequest, mood: Mood) -> JobNews | Exception:
        match mood:
            case "away":
                return NotAcceptedError("nobody answers")
            case "refuses":
                return RefusedError("not such a thing")
            case "unclear, not made":
                return UnclearError("cut off")
            case "unclear, made":
                self._job_for(request)
                return UnclearError("cut off")
            case "nonsense":
                return InvalidError("it makes no sense of the request")
            case _:
                return self._job_for(request).news()

    def _job_for(self, request: JobRequest) -> Job:
        known = [job for job in self.jobs if job.key == request.key]
        if known and self.provider.honours_keys:
            return known[0]
        cost = SOUNDS.price.of(int(request.params["seconds"]))
        self.jobs.append(Job(f"job_{len(self.jobs)}", request.key, cost))
        return self.jobs[-1]

    def _look_up(self, key: str, mood: Mood) -> Any:
        if mood == "away":
            return UnavailableError("away")
        if not self._searchable:
            return NOT_SUPPORTED
        return next((job.news() for job in self.jobs if job.key == key), None)

    def _status(self, job_id: str, mood: Mood) -> JobNews | Exception:
        job = self._job(job_id)
        match mood:
            case "away":
                return UnavailableError("away")
            case "lost":
                return JobLostError("no such job")
            case "unknown word":
                return job.news(state=JobState.UNKNOWN, outputs=(), cost=None)
            case _:
                return job.news()

    def _cancel(self, job_id: str, mood: Mood) -> JobNews | Exception:
        job = self._job(job_id)
        if mood == "away":
            return UnavailableError("away")
        job.go_on(JobState.CANCELLED)
        return job.news()

    def _job(self, job_id: str) -> Job:
        return next(job for job in self.jobs if job.id == job_id)
