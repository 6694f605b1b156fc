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
    """Inputs that an offer accepts: at most `most` of a role, of these media types, or of any type if there are none.

    The roles are `source` (the work to make the next version of) and `reference`.
    """

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
    """One model of a provider. `kind` is `image`, `video`, `audio` or `model3d`.

    `sizes` are words such as `1024x1024`, `durations` whole seconds; the first of each is the default. Where one is
    empty, the model does not let you choose.
    """

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
    """Request to a provider. The same order always gives the same request, byte for byte, until `inputs_until`.

    `key` is the order's idempotency key. `params` holds `prompt` and, where they were asked for or the offer has a
    default, `size`, `seconds` (an int), `style` and `operation`, as `generation/orders/draft.py` builds it. A key
    without a value is left out. The only operation is `enhance`: it comes with a `source` and without a prompt.
    """

    key: str
    kind: str
    model: str
    params: Mapping[str, Any]
    inputs: tuple[JobInput, ...]
    inputs_until: datetime


@dataclass(frozen=True)
class JobOutput:
    """A finished output: its address at the provider, or its bytes if the provider answers with them.

    `media_type` may be empty, since the type is detected from the bytes. Bytes that do not have the `sha256` given
    here, if one is given, are not accepted.
    """

    media_type: str
    url: str = ""
    sha256: str = ""
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class JobNews:
    """What a provider reports about a job. `cost` is None until it is known; `error` is the provider's reason.

    `progress` goes from 0 to 1. `odd_cost` holds, as ASCII, a reported cost that cannot be read as an amount in a
    currency. `sequence` is the provider's own number of a callback, by which a repeated one is recognised; without it
    the body is compared.
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

    `name` is its name in LOOPWRIGHT_GENERATORS. `honours_keys` says that the same key with the same request never
    starts a second job; only then is a request whose answer was lost sent again.
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

        Raises NotAcceptedError (nothing was started; it is sent again later), InvalidError or RefusedError (sending it
        again is no use; the order fails), or UnclearError (a job may have been started; it is looked up by its key).
        """
        ...

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        """Return the job of a key; raises UnavailableError, and is then called again until the order's deadline.

        None means that the provider knows no such job. If it honours keys, the request may be sent again under this
        key; otherwise the order becomes unresolved. NOT_SUPPORTED means that it cannot be asked: the order becomes
        unresolved.
        """
        ...

    def status(self, upstream_id: str) -> JobNews:
        """Return a job as it is now; raises UnavailableError or JobLostError."""
        ...

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        """Ask to cancel a job, and return it as it is now. Raises UnavailableError or JobLostError.

        After NOT_SUPPORTED the job is asked for by `status` and followed to its end or its deadline.
        """
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
