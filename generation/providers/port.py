"""The port to a generation service: requests, answers and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, Protocol

from core.errors import LoopwrightError, UnavailableError


class JobState(StrEnum):
    """State of a job at its provider. `UNKNOWN` is any state that we do not know; it never means success."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class InputSlot:
    """Inputs that an offer accepts: at most `most` of a role, of these media types."""

    role: str
    media_types: tuple[str, ...]
    most: int


@dataclass(frozen=True)
class Price:
    """Price per job, or per second of the output."""

    amount: Decimal
    currency: str
    per: Literal["job", "second"]

    def of(self, seconds: int | None) -> Decimal:
        """Return the exact cost of one job."""
        return self.amount * ((seconds or 1) if self.per == "second" else 1)


@dataclass(frozen=True)
class Offer:
    """One model of a provider. Without `sizes` or `durations` the model does not let you choose one."""

    model: str
    kind: str
    title: str
    sizes: tuple[str, ...]
    durations: tuple[int, ...]
    inputs: tuple[InputSlot, ...]
    price: Price


@dataclass(frozen=True)
class JobInput:
    """An input of a job: its role and its bytes."""

    role: str
    media_type: str
    sha256: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class JobRequest:
    """Request to a provider. The same order always gives the same request, byte for byte, until `inputs_until`."""

    key: str
    kind: str
    model: str
    params: Mapping[str, Any]
    inputs: tuple[JobInput, ...]
    inputs_until: datetime


@dataclass(frozen=True)
class JobOutput:
    """A finished output: its address at the provider, or its bytes if the provider answers with them."""

    media_type: str
    url: str = ""
    sha256: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JobNews:
    """What a provider reports about a job. `cost` is None until it is known; `error` is the provider's reason.

    `odd_cost` holds, as ASCII, a reported cost that cannot be read as an amount in a currency.
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
    """Marks a question that the provider cannot answer."""

    NOT_SUPPORTED = "not_supported"


NOT_SUPPORTED = NotSupported.NOT_SUPPORTED


class NotAcceptedError(UnavailableError):
    """The request certainly started nothing: it did not arrive, or the provider did not accept it."""

    code = "not_accepted"

    def __init__(self, message: str, wait: timedelta | None = None) -> None:
        super().__init__(message)
        self.wait = wait


class JobLostError(LoopwrightError):
    """The provider does not know the job."""

    code = "job_lost"


class Provider(Protocol):
    """A generation service.

    `honours_keys` says that the same key with the same request never starts a second job.
    """

    @property
    def name(self) -> str: ...

    @property
    def honours_keys(self) -> bool: ...

    def capabilities(self) -> Sequence[Offer]:
        """Return what it offers now; raises UnavailableError."""
        ...

    def submit(self, request: JobRequest) -> JobNews:
        """Send the request once and return the job.

        Raises NotAcceptedError (nothing was started), RefusedError (sending it again is no use) or UnclearError.
        """
        ...

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        """Return the job of a key, or None when there is none; raises UnavailableError."""
        ...

    def status(self, upstream_id: str) -> JobNews:
        """Return a job as it is now; raises UnavailableError or JobLostError."""
        ...

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        """Ask to cancel a job, and return it as it is now. Raises UnavailableError or JobLostError."""
        ...

    def fetch(self, output: JobOutput, most_bytes: int) -> bytes:
        """Fetch the bytes of an output, only from the provider's own hosts and without following redirects.

        Raises UnavailableError when it may be tried again, RefusedError when another try is no use.
        """
        ...

    def verify_callback(self, headers: Mapping[str, str], body: bytes, now: datetime) -> JobNews:
        """Read a signed callback.

        Raises RefusedError for a wrong signature or age, InvalidError for an unreadable body.
        """
        ...


def get_provider(providers: Mapping[str, Provider], name: str) -> Provider:
    """Return the provider of this name; raises UnavailableError when it is not set up here."""
    provider = providers.get(name)
    if provider is None:
        raise UnavailableError(f"the provider {name!r} is not set up here; see LOOPWRIGHT_GENERATORS")
    return provider
