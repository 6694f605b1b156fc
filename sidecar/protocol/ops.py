"""Ops with which a skill's function may answer, as the Python SDK writes them."""

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
    """Write a moment as the SDK does, in UTC; raises ValueError for anything else."""
    try:
        moment = datetime.fromisoformat(value).astimezone(UTC)
    except OverflowError:
        raise ValueError("the moment is not a date of the calendar") from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _check_expression(value: str) -> str:
    if (wrong := wrong_expression(value)) is not None:
        raise ValueError(wrong)
    return value


CutText = Annotated[str, BeforeValidator(_cut)]
Expression = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS), AfterValidator(_check_expression)]
"""An expression of bounded cost: the engine evaluates it for every event of a name, between all other runs."""


class OpError(BaseModel):
    """An error of the skill. Its texts are cut and never refused."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    code: CutText = "unknown"
    name: CutText = "Error"
    message: CutText = ""
    stack: CutText | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the error in the SDK's form."""
        return self.model_dump()


class Userland(BaseModel):
    """The step's id as its author wrote it, and its index among steps with that id."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: ShortText
    index: int | None = None


class _OpBase(BaseModel):
    """The fields of every op. Only what `to_wire` names is passed on."""

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

    def to_wire(self) -> dict[str, Any]:
        """Return the op in the SDK's form."""
        fields = {"id": self.id, "displayName": self.display_name, "name": self.name or self.display_name}
        return fields | ({"userland": self.userland.model_dump()} if self.userland is not None else {})


class ParallelMode(BaseModel):
    """How a group of parallel steps goes on."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    parallelMode: Literal["race", "wait"] | None = None

    @property
    def parallel(self) -> dict[str, Any]:
        """The mode as an option of the op."""
        return {"parallelMode": self.parallelMode} if self.parallelMode is not None else {}


class StepDoneOp(_OpBase):
    """A step that ran, with its output."""

    op: Literal["StepRun", "Step"]
    opts: ParallelMode | None = None

    def to_wire(self) -> dict[str, Any]:
        return super().to_wire() | {"op": self.op, "data": self.data} | _mode_opts(self.opts)


class StepFailedOp(_OpBase):
    """A step that failed."""

    op: Literal["StepError", "StepFailed"]
    opts: ParallelMode | None = None
    error: OpError

    def to_wire(self) -> dict[str, Any]:
        return super().to_wire() | {"op": self.op, "error": self.error.to_wire(), "data": None} | _mode_opts(self.opts)


class StepPlannedOp(_OpBase):
    """A step that the engine is to call for."""

    op: Literal["StepPlanned"]
    opts: ParallelMode | None = None

    def to_wire(self) -> dict[str, Any]:
        return super().to_wire() | {"op": self.op} | _mode_opts(self.opts)


class SleepOp(_OpBase):
    """A sleep; its name is the moment it ends."""

    op: Literal["Sleep"]
    name: Annotated[str, Field(max_length=64), AfterValidator(format_moment)]
    opts: ParallelMode | None = None

    def to_wire(self) -> dict[str, Any]:
        return super().to_wire() | {"op": self.op} | _mode_opts(self.opts)


class WaitOpts(ParallelMode):
    """The options of a wait."""

    if_exp: Expression | None = Field(None, alias="if")
    timeout: Duration


class WaitOp(_OpBase):
    """A wait for an event; its name is the event's."""

    op: Literal["WaitForEvent"]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    opts: WaitOpts

    @property
    def waits_for(self) -> str | None:
        return self.name

    def to_wire(self) -> dict[str, Any]:
        opts = {"if": self.opts.if_exp, "timeout": self.opts.timeout}
        return super().to_wire() | {"op": self.op, "opts": opts | self.opts.parallel}


class InvokePayload(BaseModel):
    """What the invoked function receives."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    data: dict[str, Any] | None = None
    v: ShortText | None = None


class InvokeOpts(ParallelMode):
    """The options of an invocation."""

    function_id: ShortText
    payload: InvokePayload
    timeout: Duration | None = None


class InvokeOp(_OpBase):
    """The invocation of another function."""

    op: Literal["InvokeFunction"]
    opts: InvokeOpts

    @property
    def invokes(self) -> str | None:
        return self.opts.function_id

    def to_wire(self) -> dict[str, Any]:
        # The field `_inngest` is the engine's own: it says which run is answered.
        data = {key: value for key, value in (self.opts.payload.data or {}).items() if key != "_inngest"}
        payload = {"data": data, "v": self.opts.payload.v}
        opts = {"function_id": self.opts.function_id, "payload": payload, "timeout": self.opts.timeout}
        return super().to_wire() | {"op": self.op, "opts": opts | self.opts.parallel}


Op = Annotated[StepDoneOp | StepFailedOp | StepPlannedOp | SleepOp | WaitOp | InvokeOp, Field(discriminator="op")]
KNOWN_OPS = frozenset(
    ("Step", "StepRun", "StepError", "StepFailed", "StepPlanned", "Sleep", "WaitForEvent", "InvokeFunction")
)


def _mode_opts(mode: ParallelMode | None) -> dict[str, Any]:
    return {"opts": mode.parallel} if mode is not None and mode.parallel else {}
