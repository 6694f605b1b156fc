"""Ops that a skill's function may answer with, as the Python SDK writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from skills.format.expressions import MOST_CHARACTERS, wrong_expression

ShortText = Annotated[str, Field(max_length=1000)]
Duration = Annotated[str, Field(pattern=r"^([0-9]{1,6}(ms|[smhdw])){1,4}$")]
_MOST_TEXT = 32_000


def _cut(value: object) -> object:
    return value[:_MOST_TEXT] if isinstance(value, str) else value


def format_moment(value: str) -> str:
    """A moment as the SDK writes it, in UTC; raises ValueError for what is none."""
    try:
        told = datetime.fromisoformat(value).astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment is outside of the calendar") from None
    return told.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_expression(value: str) -> str:
    if (wrong := wrong_expression(value)) is not None:
        raise ValueError(wrong)
    return value


CutText = Annotated[str, BeforeValidator(_cut)]
Expression = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(_check_expression)]
"""One whose work is bounded: the engine works it out for every event of a name, between everybody's runs."""


class OpError(BaseModel):
    """An error of the skill; texts are cut, not refused."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: CutText = "unknown"
    name: CutText = "Error"
    message: CutText = ""
    stack: CutText | None = None

    def written(self) -> dict[str, Any]:
        return self.model_dump()


class Userland(BaseModel):
    """The step's id as its author wrote it, and which of several with that id."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: ShortText
    index: int | None = None


class _OpBase(BaseModel):
    """`written` names every field that passes; what is not named there does not."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    id: str = Field(pattern=r"^[0-9A-Za-z_-]{1,64}$")
    display_name: ShortText = Field(alias="displayName")
    name: ShortText | None = None
    userland: Userland | None = None
    data: Any = None

    @property
    def waits_for(self) -> str | None:
        """The event it waits for."""
        return None

    @property
    def invokes(self) -> str | None:
        """The full id of the function it invokes."""
        return None

    def written(self) -> dict[str, Any]:
        told = {"id": self.id, "displayName": self.display_name, "name": self.name or self.display_name}
        return told | ({"userland": self.userland.model_dump()} if self.userland is not None else {})


class ParallelMode(BaseModel):
    """How a parallel group goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    parallelMode: Literal["race", "wait"] | None = None

    @property
    def parallel(self) -> dict[str, Any]:
        return {"parallelMode": self.parallelMode} if self.parallelMode is not None else {}


class StepDoneOp(_OpBase):
    op: Literal["StepRun", "Step"]
    opts: ParallelMode | None = None

    def written(self) -> dict[str, Any]:
        return super().written() | {"op": self.op, "data": self.data} | _mode_opts(self.opts)


class StepFailedOp(_OpBase):
    op: Literal["StepError", "StepFailed"]
    opts: ParallelMode | None = None
    error: OpError

    def written(self) -> dict[str, Any]:
        return super().written() | {"op": self.op, "error": self.error.written(), "data": None} | _mode_opts(self.opts)


class StepPlannedOp(_OpBase):
    op: Literal["StepPlanned"]
    opts: ParallelMode | None = None

    def written(self) -> dict[str, Any]:
        return super().written() | {"op": self.op} | _mode_opts(self.opts)


class SleepOp(_OpBase):
    """Its name is the moment it ends."""

    op: Literal["Sleep"]
    name: Annotated[str, Field(max_length=64), AfterValidator(format_moment)]
    opts: ParallelMode | None = None

    def written(self) -> dict[str, Any]:
        return super().written() | {"op": self.op} | _mode_opts(self.opts)


class WaitOpts(ParallelMode):
    if_exp: Expression | None = Field(None, alias="if")
    timeout: Duration


class WaitOp(_OpBase):
    """Its name is the event's."""

    op: Literal["WaitForEvent"]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    opts: WaitOpts

    @property
    def waits_for(self) -> str | None:
        return self.name

    def written(self) -> dict[str, Any]:
        opts = {"if": self.opts.if_exp, "timeout": self.opts.timeout}
        return super().written() | {"op": self.op, "opts": opts | self.opts.parallel}


class InvokePayload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    data: dict[str, Any] | None = None
    v: ShortText | None = None


class InvokeOpts(ParallelMode):
    function_id: ShortText
    payload: InvokePayload
    timeout: Duration | None = None


class InvokeOp(_OpBase):
    op: Literal["InvokeFunction"]
    opts: InvokeOpts

    @property
    def invokes(self) -> str | None:
        return self.opts.function_id

    def written(self) -> dict[str, Any]:
        # What is under `_inngest` is the engine's: it says which run is answered.
        data = {key: value for key, value in (self.opts.payload.data or {}).items() if key != "_inngest"}
        payload = {"data": data, "v": self.opts.payload.v}
        opts = {"function_id": self.opts.function_id, "payload": payload, "timeout": self.opts.timeout}
        return super().written() | {"op": self.op, "opts": opts | self.opts.parallel}


Op = Annotated[StepDoneOp | StepFailedOp | StepPlannedOp | SleepOp | WaitOp | InvokeOp, Field(discriminator="op")]
KNOWN_OPS = frozenset(
    ("Step", "StepRun", "StepError", "StepFailed", "StepPlanned", "Sleep", "WaitForEvent", "InvokeFunction")
)


def _mode_opts(mode: ParallelMode | None) -> dict[str, Any]:
    return {"opts": mode.parallel} if mode is not None and mode.parallel else {}
