"""The port to a service that makes things: what it is asked, what it may answer, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, Protocol

from core.errors import LoopwrightError, UnavailableError


class JobState(StrEnum):
    """A provider's word for a job, in ours; `UNKNOWN` is a word we do not know, and never means success."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class InputSlot:
    """What an offer takes to work from: at most `most` inputs of a role, of these media types."""

    role: str
    media_types: tuple[str, ...]
    most: int


@dataclass(frozen=True)
class Price:
    """`per` job, or per second of the output."""

    amount: Decimal
    currency: str
    per: Literal["job", "second"]

    def of(self, seconds: int | None) -> Decimal:
        """What one job costs, exactly."""
        return self.amount * ((seconds or 1) if self.per == "second" else 1)


@dataclass(frozen=True)
class Offer:
    """One model of a provider. Empty `sizes` or `durations`: the model takes none."""

    model: str
    kind: str
    title: str
    sizes: tuple[str, ...]
    durations: tuple[int, ...]
    inputs: tuple[InputSlot, ...]
    price: Price


@dataclass(frozen=True)
class JobInput:
    """Bytes to work from."""

    role: str
    media_type: str
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class JobRequest:
    """What is asked of a provider; the same order makes the same request, byte for byte, until `inputs_until`."""

    key: str
    kind: str
    model: str
    params: Mapping[str, Any]
    inputs: tuple[JobInput, ...]
    inputs_until: datetime


@dataclass(frozen=True)
class JobOutput:
    """A finished thing: at an address of the provider, or its bytes where the provider answers with them."""

    media_type: str
    url: str = ""
    sha256: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JobNews:
    """What a provider says about a job. `cost` is None until it is known; `error` is its own reason.

    `odd_cost` is what it says in the place of a cost and is no amount in a currency, as ASCII.
    """

    upstream_id: str
    state: JobState
    progress: float = 0.0
    outputs: tuple[JobOutput, ...] = ()
    cost: Decimal | None = None
    currency: str = ""
    odd_cost: str = ""
    error: str = ""
    sequence: int | None = None


class NotSupported(StrEnum):
    """The provider has no such question."""

    NOT_SUPPORTED = "not_supported"


NOT_SUPPORTED = NotSupported.NOT_SUPPORTED


class NotAcceptedError(UnavailableError):
    """The request certainly started nothing: it did not arrive, or was answered as not accepted."""

    code = "not_accepted"

    def __init__(self, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class JobLostError(LoopwrightError):
    """The provider says that it knows no such job."""

    code = "job_lost"


class Provider(Protocol):
    """One service. `honours_keys` tells that the same key with the same request never makes a second job."""

    @property
    def name(self) -> str: ...

    @property
    def honours_keys(self) -> bool: ...

    def capabilities(self) -> Sequence[Offer]:
        """What it offers now; raises UnavailableError."""
        ...

    def submit(self, request: JobRequest) -> JobNews:
        """Ask once. Raises NotAcceptedError (nothing was started), RefusedError (it never will be) or UnclearError."""
        ...

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        """The job of a key, None when there is none; raises UnavailableError."""
        ...

    def status(self, upstream_id: str) -> JobNews:
        """Raises UnavailableError or JobLostError."""
        ...

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        """Ask for the end of a job; answers what it is now. Raises UnavailableError or JobLostError."""
        ...

    def fetch(self, output: JobOutput, most_bytes: int) -> bytes:
        """The bytes, from the provider's own hosts only, without following a redirect.

        Raises UnavailableError when it may be tried again, RefusedError when it is no use.
        """
        ...

    def verify_callback(self, headers: Mapping[str, str], body: bytes, now: datetime) -> JobNews:
        """Read a signed callback. Raises RefusedError for a wrong signature or age, InvalidError for nonsense."""
        ...
