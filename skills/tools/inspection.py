"""Tools that read guides, skills with their source, and runs."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from core.database import Scope
from core.errors import NotFoundError
from core.tools import CallContext, Effect, ToolResult
from skills.book import grants, runs, versions
from skills.book.skill import find_skill, get_skill, list_skills
from skills.book.versions import CheckedVersion
from skills.guide import list_guides, read_guide
from skills.tools.folder import AgentSkillFolder, sha_of
from skills.tools.summary import DATA_NOTE, choose_shown_version, function_lines, problem_lines, run_line, skill_line


class ReadGuideArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str | None = Field(None, max_length=80)


class ReadGuide:
    """List the guides, or read one."""

    name = "read_guide"
    domain = "core"
    effect = Effect.READ
    repeatable = True
    description = (
        "Read a guide to how things are done here, such as `writing-skills` before you write or change a durable "
        "skill. Without a name: which guides there are."
    )
    arguments: type[BaseModel] = ReadGuideArguments

    def run(self, call: CallContext, arguments: ReadGuideArguments) -> ToolResult:
        if arguments.name is None:
            return ToolResult({"guides": [{"name": name, "title": title} for name, title in list_guides().items()]})
        return ToolResult({"name": arguments.name, "text": read_guide(arguments.name)})


_PAGE = 7_000
"""Characters of source per page, so that a page fits into the history even with every quote escaped in JSON."""


class StrictArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ListSkillsArguments(StrictArguments):
    pass


class ListSkills:
    """List every skill."""

    name = "list_skills"
    domain = "skills"
    effect = Effect.READ
    repeatable = True
    description = "List the durable skills: what each is for, its status, functions, triggers and problems."
    arguments: type[BaseModel] = ListSkillsArguments

    def run(self, call: CallContext, arguments: ListSkillsArguments) -> ToolResult:
        with call.reading() as scope:
            return ToolResult({"skills": [skill_line(scope, skill) for skill in list_skills(scope)]})


class ReadSkillArguments(StrictArguments):
    name: str = Field(max_length=80)
    version: int | None = Field(None, ge=1, le=10**6)
    page: int = Field(1, ge=1, le=1000)


class ReadSkill:
    """Read one skill with its source."""

    name = "read_skill"
    domain = "skills"
    effect = Effect.READ
    repeatable = True
    description = (
        "Read a skill: its source by pages, permissions, problems and last versions. Without `version` the one that "
        "serves. Read before you change: `write_skill` wants the number of the version your change is based on."
    )
    arguments: type[BaseModel] = ReadSkillArguments

    def __init__(self, folder: AgentSkillFolder) -> None:
        self._folder = folder

    def run(self, call: CallContext, arguments: ReadSkillArguments) -> ToolResult:
        with call.reading() as scope:
            facts, source = self._read_source(scope, arguments.name, arguments.version)
        pages = max(1, -(-len(source) // _PAGE))
        start = (arguments.page - 1) * _PAGE
        return ToolResult({**facts, "page": arguments.page, "pages": pages, "source": source[start : start + _PAGE]})

    def _read_source(self, scope: Scope, stem: str, number: int | None) -> tuple[dict[str, Any], str]:
        skill = find_skill(scope, stem)
        files = {**self._folder.own(), **self._folder.elsewhere()}
        if skill is None:
            if (path := files.get(stem)) is None:
                raise NotFoundError(f"there is no skill {stem}; there are {', '.join(sorted(files)) or 'none'}")
            return {"skill_id": stem, "status": "checking"}, path.read_text(encoding="utf-8", errors="replace")
        version = (
            versions.get_version_by_number(scope, stem, number)
            if number is not None
            else choose_shown_version(scope, skill)
        )
        # The agent's change of a shipped skill is in no file, only in the database.
        in_book = number is not None or (skill.origin == "shipped" and version is not None)
        saved = None if in_book else self._unversioned_content(files, stem, version)
        facts: dict[str, Any] = {"skill_id": stem, "status": skill.status, "origin": skill.origin}
        if version is not None:
            facts |= _version_facts(scope, version)
        if skill.problems:
            facts["problems"] = problem_lines(skill.problems)
        if saved is not None:
            facts["source_is"] = "what the file holds now, which is not what serves"
            return facts, saved
        return facts, version.source if version is not None else ""

    @staticmethod
    def _unversioned_content(files: dict[str, Any], stem: str, version: CheckedVersion | None) -> str | None:
        """Return the content of the file if it is not a version yet."""
        if stem not in files:
            return None
        try:
            source: bytes = files[stem].read_bytes()
        except OSError:
            return None
        if version is not None and sha_of(source) == version.sha:
            return None
        return source.decode("utf-8", "replace")


class SkillRunsArguments(StrictArguments):
    name: str = Field(max_length=80)
    function: str | None = Field(None, max_length=128)
    limit: int = Field(10, ge=1, le=50)


class SkillRuns:
    """Show rates and runs of a skill."""

    name = "skill_runs"
    domain = "skills"
    effect = Effect.READ
    repeatable = True
    description = "How a skill did: rates of the last seven days, and its newest runs with what they put out."
    arguments: type[BaseModel] = SkillRunsArguments

    def run(self, call: CallContext, arguments: SkillRunsArguments) -> ToolResult:
        with call.reading() as scope:
            skill = get_skill(scope, arguments.name)
            rates = runs.compute_rates(scope, skill.id, scope.now - timedelta(days=7))
            found = runs.list_skill_runs(scope, skill.id, arguments.limit, function_id=arguments.function)
        week = {name: value for name, value in asdict(rates).items() if value is not None}
        return ToolResult(
            {"skill_id": skill.id, "week": week, "note": DATA_NOTE, "runs": [run_line(one) for one in found]}
        )


def _version_facts(scope: Scope, version: CheckedVersion) -> dict[str, Any]:
    allowed = version.manifest.permissions.model_dump(exclude_defaults=True)
    missing = grants.missing_permissions(
        scope, version.skill_id, grants.wanted_permissions(version.manifest, version.functions)
    )
    return {
        "version": version.number,
        "stage": version.stage,
        "hash": version.sha,
        "author": version.author,
        "reason": version.reason[:500],
        "title": version.manifest.title,
        "permissions": allowed,
        "not_granted": list(missing),
        "functions": function_lines(version),
    }
