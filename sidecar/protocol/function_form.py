"""The form in which a skill's function is registered: what the child states, and what of it is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from core.events import RunFailed
from sidecar.protocol.ops import Duration, Expression
from skills.checks.functions import FAILURE, LONGEST_ID, MOST_CANCELS, MOST_CONCURRENCY, MOST_RETRIES
from skills.checks.triggers import MOST_TRIGGERS
from skills.format.events import wrong_event
from skills.format.problem import SkillProblem
from skills.format.schedule import LONGEST_CRON, wrong_cron

_OWN_ID = re.compile(rf"[a-zA-Z0-9][a-zA-Z0-9_-]{{0,{LONGEST_ID - 1}}}")


def _check_cron(value: str) -> str:
    if (wrong := wrong_cron(value)) is not None:
        raise ValueError(wrong)
    return value


Cron = Annotated[str, Field(min_length=9, max_length=LONGEST_CRON), AfterValidator(_check_cron)]
EventName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\s\x00-\x1f*]+$")]
Count = Annotated[int, Field(ge=1, le=10_000)]


class FormPart(BaseModel):
    """A part of the form. Unknown fields are refused; it is written with the protocol's names, without unset fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class BatchForm(FormPart):
    """Collect several events into one run."""

    max_size: int = Field(alias="maxSize", ge=1, le=100)
    timeout: Duration | None = None
    key: Expression | None = None
    if_exp: Expression | None = Field(None, alias="if")


class CancelForm(FormPart):
    """Cancel runs when an event arrives."""

    event: EventName
    if_exp: Expression | None = Field(None, alias="if")
    timeout: Duration | None = None


class ConcurrencyForm(FormPart):
    """A limit on concurrent steps. Scopes beyond the function could hold up functions of others."""

    key: Expression | None = None
    limit: int = Field(ge=0, le=1000)
    scope: Literal["fn"] | None = None


class DebounceForm(FormPart):
    """Wait until events stop arriving."""

    key: Expression | None = None
    period: Duration
    timeout: Duration | None = None


class PriorityForm(FormPart):
    """Order waiting runs by an expression."""

    run: Expression


class RateForm(FormPart):
    """Skip events beyond a rate."""

    key: Expression | None = None
    limit: Count
    period: Duration


class ThrottleForm(RateForm):
    """Delay runs beyond a rate."""

    burst: Count | None = None


class TimeoutsForm(FormPart):
    """Cancel runs that wait or run for too long."""

    start: Duration | None = None
    finish: Duration | None = None


class SingletonForm(FormPart):
    """Allow one run at a time."""

    key: Expression | None = None
    mode: Literal["skip", "cancel"]


class TriggerForm(FormPart):
    """A trigger: an event or a schedule."""

    event: EventName | None = None
    expression: Expression | None = None
    cron: Cron | None = None
    jitter: Duration | None = None

    @model_validator(mode="after")
    def _one(self) -> TriggerForm:
        by_event, by_cron = self.event is not None, self.cron is not None
        if by_event == by_cron or (by_cron and self.expression) or (by_event and self.jitter):
            raise ValueError("a trigger is either an event, perhaps with an expression, or a cron, perhaps with jitter")
        return self


class RetriesForm(FormPart):
    """How often a failed step is tried."""

    attempts: int = Field(ge=0, le=MOST_RETRIES)


class RuntimeForm(FormPart):
    """Where the child says the function is called. Not used: the sidecar writes its own address."""

    type: str
    url: str


class StepForm(FormPart):
    """The one step that the registration of a function consists of."""

    id: Literal["step"]
    name: str
    retries: RetriesForm | None = None
    runtime: RuntimeForm


class StepsForm(FormPart):
    """The steps of the function's registration, always one."""

    step: StepForm


class FunctionForm(FormPart):
    """A function as the child states it."""

    batch: BatchForm | None = Field(None, alias="batchEvents")
    cancel: list[CancelForm] | None = Field(None, max_length=MOST_CANCELS)
    concurrency: list[ConcurrencyForm] | None = Field(None, max_length=MOST_CONCURRENCY)
    debounce: DebounceForm | None = None
    id: str = Field(min_length=1, max_length=200)
    idempotency: Expression | None = None
    name: str | None = Field(None, max_length=200)
    priority: PriorityForm | None = None
    rate_limit: RateForm | None = Field(None, alias="rateLimit")
    singleton: SingletonForm | None = None
    steps: StepsForm
    throttle: ThrottleForm | None = None
    timeouts: TimeoutsForm | None = None
    triggers: list[TriggerForm] = Field(min_length=1, max_length=MOST_TRIGGERS)

    def find_overreach(self, app_id: str, ids: Set[str], listen: Set[str]) -> Iterator[SkillProblem]:
        """Yield what it claims beyond its own app and the manifest's events; `ids` are those of the whole file."""
        if not self.id.startswith(f"{app_id}-") or not _OWN_ID.fullmatch(self.id.removeprefix(f"{app_id}-")):
            yield SkillProblem(None, f"{self.id} is not a function of {app_id}", "make it with skills.kit.client")
        if self.is_failure_handler(ids):
            return
        if self.id.endswith(FAILURE):
            reason = f"{self.id} has the id of a failure handler and is none"
            yield SkillProblem(None, reason, f"give it an fn_id that does not end in {FAILURE}")
        wanted = [trigger.event for trigger in self.triggers] + [cancel.event for cancel in self.cancel or ()]
        for event in dict.fromkeys(name for name in wanted if name is not None):
            if (why := wrong_event(event)) is not None:
                yield SkillProblem(
                    None,
                    f"{self.id} listens to {event}: {why}",
                    "trigger it by an event that your own programs or skills send",
                )
            elif event not in listen:
                fix = f'add "{event}" to events.listen of the manifest'
                yield SkillProblem(None, f"{self.id} listens to {event}, which the manifest does not name", fix)

    def is_failure_handler(self, ids: Set[str]) -> bool:
        """Whether it is what the SDK makes of `on_failure`: triggered by failures of one function of this file only."""
        of = self.id.removesuffix(FAILURE)
        if of == self.id or of not in ids:
            return False
        return self.triggers == [TriggerForm(event=RunFailed.name, expression=f"event.data.function_id == '{of}'")]


def write_function(form: FunctionForm, url: str) -> dict[str, Any]:
    """Return the registration of the function, with our own address."""
    fields = form.model_dump(by_alias=True, exclude_none=True, exclude={"steps"})
    step: dict[str, Any] = {
        "id": "step",
        "name": "step",
        "runtime": {"type": "http", "url": f"{url}?{urlencode({'fnId': form.id, 'stepId': 'step'})}"},
    }
    if form.steps.step.retries is not None:
        step["retries"] = {"attempts": form.steps.step.retries.attempts}
    return {**fields, "steps": {"step": step}}
