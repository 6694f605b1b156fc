"""The agent's tools for skills: look, read, write, try, begin a run, take away."""

from __future__ import annotations

from core.orchestrator.engine import Engine
from core.tools import Tool
from skills.tools.folder import AgentSkillFolder
from skills.tools.inspection import ListSkills, ReadGuide, ReadSkill, SkillRuns
from skills.tools.invocation import InvokeSkill, TrySkill
from skills.tools.retirement import RetireSkill
from skills.tools.write import WriteSkill

__all__ = ["AgentSkillFolder", "skill_tools"]


def skill_tools(desk: AgentSkillFolder, engine: Engine) -> tuple[Tool, ...]:
    """Every tool of this room."""
    return (
        ReadGuide(),
        ListSkills(),
        ReadSkill(desk),
        WriteSkill(desk),
        TrySkill(desk),
        InvokeSkill(engine),
        SkillRuns(),
        RetireSkill(),
    )
