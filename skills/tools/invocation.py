"""Tools that run a function of a skill: `invoke_skill` starts a run, `test_skill` lets the sidecar rehearse one."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.orchestrator.engine import Engine
from core.tools import CallContext, Effect, ToolResult
from skills.book import versions
from skills.book.invoke_event import choose_function, invoke_event_name
from skills.book.skill import get_skill, lock_skill
from skills.book.versions import CheckedVersion
from skills.lifecycle import manual_test
from skills.lifecycle.decision import Trial
from skills.tools.folder import AgentSkillFolder, require_home_workspace
from skills.tools.summary import DATA_NOTE, problem_lines, shorten_value

_MOST_DATA = 100_000


class InvokeSkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=80)
    function: str | None = Field(None, max_length=128, description="which one, where the skill has several")
    data: dict[str, Any] = Field(default_factory=dict, description="becomes event.data")


class InvokeSkill:
    """Start a run by hand."""

    name = "invoke_skill"
    domain = "skills"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Begin a run of a live skill now, whatever its triggers; `data` becomes `event.data`. The run goes on by "
        "itself: `skill_runs` shows what became of it."
    )
    arguments: type[BaseModel] = InvokeSkillArguments

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, call: CallContext, arguments: InvokeSkillArguments) -> ToolResult:
        if len(json.dumps(arguments.data)) > _MOST_DATA:
            raise InvalidError(f"data has more than {_MOST_DATA} characters: store it, and hand over where it is")
        with call.transaction("skill.invoked") as scope:
            skill = get_skill(scope, arguments.name)
            if not skill.serves or skill.version_id is None:
                raise ConflictError(f"{skill.id} is {skill.status}: no run of it can begin", status=skill.status)
            function = choose_function(versions.get_version(scope, skill.version_id), arguments.function)
        # The engine starts one run per event id, so a repeated call starts no second one.
        event = {"id": f"invoke:{call.call_id}", "name": invoke_event_name(skill.id, function), "data": arguments.data}
        ids = self._engine.send_all([event])
        return ToolResult({"skill_id": skill.id, "function": function, "event_id": next(iter(ids), event["id"])})


_POLL_SECONDS = 0.2


class TrySkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=80)
    function: str | None = Field(None, max_length=128, description="which one, where the skill has several")
    data: dict[str, Any] = Field(default_factory=dict, description="becomes event.data")
    event: str | None = Field(None, max_length=200, description="the event's name, where the function looks at it")


class TrySkill:
    """Rehearse the newest version on an event."""

    name = "test_skill"
    domain = "skills"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Try the newest version of a skill that passed the checks: its function runs once on an event with this data, "
        "reads for real, and every effect (notices, events, writes) is only listed. Tells what it returns and would do."
    )
    arguments: type[BaseModel] = TrySkillArguments

    def __init__(self, folder: AgentSkillFolder) -> None:
        self._folder = folder

    def run(self, call: CallContext, arguments: TrySkillArguments) -> ToolResult:
        require_home_workspace(call.workspace_id)
        with call.transaction("skill.test_asked") as scope:
            version = self._newest(scope, arguments.name)
            function = choose_function(version, arguments.function)
            event = {"name": arguments.event or invoke_event_name(version.skill_id, function), "data": arguments.data}
            manual_test.request_test(scope, version, cause=call.call_id, function_id=function, event=event)
        trial = self._await_trial(call, version.id)
        if trial is None:
            return ToolResult(
                {**_version_lines(version), "state": "asked", "says": "not tried yet: ask again in a while"}
            )
        content = {**_version_lines(version), "function": function, "state": "failed" if trial.failed else "passed"}
        told = [shorten_value(one) for one in trial.differences]
        content |= {"note": DATA_NOTE, "failed": shorten_value(trial.failed), "what_happened": told}
        return ToolResult(content, ok=not trial.failed)

    @staticmethod
    def _newest(scope: Scope, stem: str) -> CheckedVersion:
        skill = lock_skill(scope, stem)
        known = skill.candidate_id or skill.version_id
        if known is None:
            told = "; ".join(str(one["reason"]) for one in problem_lines(skill.problems)) or "it is not checked yet"
            raise ConflictError(f"no version of {stem} passed the checks: {told}", status=skill.status)
        if skill.status in ("disabled", "retired") and skill.candidate_id is None:
            raise ConflictError(f"{stem} is {skill.status}: nothing of it is tried", status=skill.status)
        return versions.get_version(scope, known)

    def _await_trial(self, call: CallContext, version_id: str) -> Trial | None:
        """Wait for the result, up to twice `patience_seconds`, without holding a transaction."""
        deadline = time.monotonic() + 2 * self._folder.patience_seconds
        while True:
            with call.reading() as scope:
                test = manual_test.read_test(versions.get_version(scope, version_id))
            if test is not None and test.cause == call.call_id and test.trial is not None:
                return test.trial
            if time.monotonic() >= deadline:
                return None
            time.sleep(_POLL_SECONDS)


def _version_lines(version: CheckedVersion) -> Mapping[str, Any]:
    trials = {
        name: shorten_value(version.stage_facts[name]) for name in ("dry_run", "shadow") if name in version.stage_facts
    }
    facts = {"skill_id": version.skill_id, "version": version.number, "stage": version.stage}
    return {**facts, "trials": trials} if trials else facts
