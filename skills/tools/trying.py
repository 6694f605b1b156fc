"""The tool that says how far a version has been tried."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from core.tools import CallContext, Effect, ToolResult
from skills import book, runs, versions
from skills.tools.shown import DATA, problems, run_line, short


class TrySkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=80)
    version: int | None = Field(None, ge=1, le=10**6)


class TrySkill:
    """How a version did on what was recorded, and in its first runs."""

    name = "test_skill"
    domain = "skills"
    effect = Effect.READ
    repeatable = True
    description = (
        "How the newest version of a skill did when it was tried: on recorded runs with its effects faked (dry run), "
        "beside the version that serves (shadow), and in its first runs. Every change to a skill with runs is tried so."
    )
    arguments: type[BaseModel] = TrySkillArguments

    def run(self, call: CallContext, arguments: TrySkillArguments) -> ToolResult:
        with call.reading() as scope:
            skill = book.get(scope, arguments.name)
            newest = versions.listing(scope, skill.id, 1)
            version = (
                versions.by_number(scope, skill.id, arguments.version)
                if arguments.version is not None
                else next(iter(newest), None)
            )
            if version is None:
                return ToolResult({"skill_id": skill.id, "problems": problems(skill.problems)}, ok=False)
            own = [one for one in runs.of_skill(scope, skill.id, 50) if one.version_id == version.id]
        trials = {
            name: short(version.stage_facts[name]) for name in ("dry_run", "shadow") if name in version.stage_facts
        }
        content = {
            "skill_id": skill.id,
            "version": version.number,
            "stage": version.stage,
            "note": DATA,
            "trials": trials,
            "runs": [run_line(one) for one in own[:5]],
        }
        if skill.problems:
            content["problems"] = problems(skill.problems)
        return ToolResult(content)
