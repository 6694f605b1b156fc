"""The tool that tries a skill: a rehearsal by the sidecar, and what is known of the trials before."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import ConflictError
from core.tools import CallContext, Effect, ToolResult
from skills import book, rehearsing, versions
from skills.invoking import chosen, event_name
from skills.lifecycle import Trial
from skills.tools.desk import SkillDesk, only_at_home
from skills.tools.shown import DATA, problems, short
from skills.versions import Version

_PAUSE_SECONDS = 0.2


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

    def __init__(self, desk: SkillDesk) -> None:
        self._desk = desk

    def run(self, call: CallContext, arguments: TrySkillArguments) -> ToolResult:
        only_at_home(call.workspace_id)
        with call.transaction("skill.test_asked") as scope:
            version = self._newest(scope, arguments.name)
            function = chosen(version, arguments.function)
            event = {"name": arguments.event or event_name(version.skill_id, function), "data": arguments.data}
            rehearsing.ask(scope, version, cause=call.call_id, function_id=function, event=event)
        trial = self._word(call, version.id)
        if trial is None:
            return ToolResult({**_shown(version), "state": "asked", "says": "not tried yet: ask again in a while"})
        content = {**_shown(version), "function": function, "state": "failed" if trial.failed else "passed"}
        told = [short(one) for one in trial.differences]
        content |= {"note": DATA, "failed": short(trial.failed), "what_happened": told}
        return ToolResult(content, ok=not trial.failed)

    @staticmethod
    def _newest(scope: Scope, stem: str) -> Version:
        skill = book.locked(scope, stem)
        known = skill.candidate_id or skill.version_id
        if known is None:
            told = "; ".join(str(one["reason"]) for one in problems(skill.problems)) or "nobody has looked at it yet"
            raise ConflictError(f"no version of {stem} passed the checks: {told}", status=skill.status)
        if skill.status in ("disabled", "retired") and skill.candidate_id is None:
            raise ConflictError(f"{stem} is {skill.status}: nothing of it is tried", status=skill.status)
        return versions.get(scope, known)

    def _word(self, call: CallContext, version_id: str) -> Trial | None:
        """What the sidecar says, within twice the desk's patience; no transaction is held meanwhile."""
        deadline = time.monotonic() + 2 * self._desk.patience_seconds
        while True:
            with call.reading() as scope:
                test = rehearsing.known_test(versions.get(scope, version_id))
            if test is not None and test.cause == call.call_id and test.trial is not None:
                return test.trial
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_SECONDS)


def _shown(version: Version) -> Mapping[str, Any]:
    trials = {name: short(version.stage_facts[name]) for name in ("dry_run", "shadow") if name in version.stage_facts}
    facts = {"skill_id": version.skill_id, "version": version.number, "stage": version.stage}
    return {**facts, "trials": trials} if trials else facts
