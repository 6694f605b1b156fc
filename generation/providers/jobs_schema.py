"""Schema of the jobs protocol: parse untrusted JSON into jobs and offers of the port."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import InvalidError
from generation.providers.port import InputSlot, JobNews, JobOutput, JobState, Offer, Price

Amount = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_AMOUNT = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?(e[-+][0-9]{1,2})?")
"""Includes exponents: Python writes very small and very large JSON numbers with one."""
_CURRENCY = re.compile(r"[A-Z]{3}")
_LONGEST = 300
_STATES = {state.value: state for state in JobState if state is not JobState.UNKNOWN}


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Output(_Body):
    url: Annotated[str, Field(max_length=4000)]
    media_type: Annotated[str, Field(max_length=100)] = ""
    sha256: Annotated[str, Field(max_length=64)] = ""


class _Job(_Body):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    state: Annotated[str, Field(min_length=1, max_length=100)]
    progress: Annotated[float, Field(allow_inf_nan=False)] | None = 0.0
    outputs: Annotated[list[_Output], Field(max_length=16)] = []
    # Parsed separately: a cost that makes no sense does not make the job invalid.
    cost: Any = None
    error: Any = None
    sequence: int | None = None


class _Input(_Body):
    role: str
    media_types: list[str] = []
    max: Annotated[int, Field(ge=0)] = 1


class _Price(_Body):
    amount: Amount
    currency: Annotated[str, Field(min_length=3, max_length=3)]
    per: Literal["job", "second"]


class _Model(_Body):
    id: Annotated[str, Field(min_length=1, max_length=200)]
    kind: Literal["image", "video", "audio", "model3d"]
    title: str = ""
    sizes: list[str] | None = []
    durations: list[int] | None = []
    inputs: list[_Input] | None = []
    price: _Price


class _Models(_Body):
    models: list[_Model]


def parse_job(body: object) -> JobNews:
    """Parse a job; raises InvalidError when the body is not one."""
    try:
        job = _Job.model_validate(body)
    except ValidationError:
        detail = _error_text(body.get("error")) if isinstance(body, dict) else ""
        raise InvalidError(f"the answer is no job{f': {detail}' if detail else ''}") from None
    state = _STATES.get(job.state.lower(), JobState.UNKNOWN)
    error = _error_text(job.error) if state is not JobState.UNKNOWN else f"the provider's state is {job.state!r}"
    cost, currency = _parse_cost(job.cost)
    return JobNews(
        upstream_id=job.id,
        state=state,
        progress=min(1.0, max(0.0, job.progress or 0.0)),
        outputs=tuple(JobOutput(media_type=item.media_type, url=item.url, sha256=item.sha256) for item in job.outputs),
        cost=cost,
        currency=currency,
        odd_cost="" if job.cost is None or cost is not None else _odd_cost_text(job.cost),
        error=error,
        sequence=job.sequence,
    )


def parse_offers(body: object) -> tuple[Offer, ...]:
    """Parse the answer of `GET /models`; raises InvalidError when it is no list of models."""
    try:
        listed = _Models.model_validate(body)
    except ValidationError as error:
        raise InvalidError(f"the list of models cannot be read ({error.error_count()} faults)") from None
    return tuple(
        Offer(
            model=model.id,
            kind=model.kind,
            title=model.title or model.id,
            sizes=tuple(model.sizes or ()),
            durations=tuple(model.durations or ()),
            inputs=tuple(InputSlot(slot.role, tuple(slot.media_types), slot.max) for slot in model.inputs or ()),
            price=Price(model.price.amount, model.price.currency, model.price.per),
        )
        for model in listed.models
    )


def _parse_cost(cost: object) -> tuple[Decimal | None, str]:
    """Return an amount of zero or more with its currency; (None, "") for anything else."""
    if not isinstance(cost, dict):
        return None, ""
    amount, currency = cost.get("amount"), cost.get("currency")
    if not (isinstance(currency, str) and _CURRENCY.fullmatch(currency)) or isinstance(amount, bool):
        return None, ""
    text = str(amount) if isinstance(amount, str | int | float) else ""
    return (Decimal(text), currency) if _AMOUNT.fullmatch(text) else (None, "")


def _odd_cost_text(cost: object) -> str:
    try:
        return json.dumps(cost)[:_LONGEST]
    except RecursionError:
        return '"nested too deeply"'


def _error_text(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or ""
    return str(error)[:500] if error else ""
