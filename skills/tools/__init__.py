"""The agent's tools for skills: list, read, write, test, invoke and retire them."""

from __future__ import annotations

from core.orchestrator.engine import Engine
from core.tools import Tool
from skills.tools.folder import AgentSkillFolder
from skills.tools.inspection import ListSkills, ReadGuide, ReadSkill, SkillRuns
from skills.tools.invocation import InvokeSkill, TrySkill
from skills.tools.retirement import RetireSkill
from skills.tools.write import WriteSkill

__all__ = ["AgentSkillFolder", "skill_tools"]


def skill_tools(folder: AgentSkillFolder, engine: Engine) -> tuple[Tool, ...]:
    """Return every tool for skills."""
    return (
        ReadGuide(),
        ListSkills(),
        ReadSkill(folder),
        WriteSkill(folder),
        TrySkill(folder),
        InvokeSkill(engine),
        SkillRuns(),
        RetireSkill(),
    )
