"""The agent's tools for skills: look, read, write, try, begin a run, take away."""

from __future__ import annotations

from core.orchestrator.engine import Engine
from core.tools import Tool
from skills.tools.desk import SkillDesk
from skills.tools.guides import ReadGuide
from skills.tools.invoking import InvokeSkill
from skills.tools.looking import ListSkills, ReadSkill, SkillRuns
from skills.tools.retiring import RetireSkill, on_irreversible_answered
from skills.tools.trying import TrySkill
from skills.tools.writing import WriteSkill

__all__ = ["SkillDesk", "on_irreversible_answered", "skill_tools"]


def skill_tools(desk: SkillDesk, engine: Engine) -> tuple[Tool, ...]:
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
