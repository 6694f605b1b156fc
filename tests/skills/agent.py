"""The agent as its ledger makes calls of tools, and the sidecar's part by the book's own moves."""

from __future__ import annotations

from typing import Any

from core.database import Database, Scope
from core.errors import LostError
from core.identity import HOME_WORKSPACE
from core.tools import CallContext, Tool, ToolResult
from skills.book import drafts, versions
from skills.book.skill import enter_skill
from skills.format.manifest import read_manifest
from skills.lifecycle import promotion
from skills.tools import AgentSkillFolder
from skills.tools.folder import sha_of


class Hold:
    """The right to act for a turn, until it is lost."""

    def __init__(self) -> None:
        self.lost = False

    def check(self, scope: Scope) -> None:
        if self.lost:
            raise LostError("another execution holds the turn")


class Agent:
    """Makes calls as the ledger does: each has a new id, unless one is made again."""

    def __init__(self, database: Database, tools: tuple[Tool, ...], workspace_id: str = HOME_WORKSPACE) -> None:
        self.hold = Hold()
        self.database = database
        self.workspace_id = workspace_id
        self.task_id: str | None = None
        self._tools = {tool.name: tool for tool in tools}
        self.calls = 0

    def call(self, tool_name: str, /, again: int | None = None, **arguments: Any) -> ToolResult:
        if again is None:
            self.calls += 1
        context = CallContext(
            database=self.database,
            fence=self.hold,
            workspace_id=self.workspace_id,
            person_id="ann",
            asked_by="person",
            task_id=self.task_id,
            turn_id="turn_1",
            call_id=f"turn_1:1:{again or self.calls}",
            language="en",
        )
        tool = self._tools[tool_name]
        return tool.run(context, tool.arguments.model_validate(arguments))

    def write(self, source: str, name: str = "words", again: int | None = None, **more: Any) -> ToolResult:
        return self.call("write_skill", again, name=name, source=source, reason="wanted", **more)


def take_into_service(database: Database, desk: AgentSkillFolder, stem: str = "words", *, live: bool = True) -> None:
    """What the sidecar does with a saved file that is good."""
    source = desk.path(stem).read_bytes()
    with database.transaction(HOME_WORKSPACE) as scope:
        skill = enter_skill(scope, stem, origin="agent", path=str(desk.path(stem)))
        draft = drafts.find_draft(scope, stem, sha_of(source))
        version = versions.add_version(
            scope,
            skill_id=stem,
            sha=sha_of(source),
            source=source.decode(),
            author=draft.author if draft else "person",
            author_ref=draft.author_ref if draft else None,
            reason=draft.reason if draft else "",
            parent_id=skill.version_id,
            manifest=read_manifest(source),
            functions=[{"id": f"skill-{stem}-count", "triggers": [{"event": "text/written"}]}],
        )
        promotion.offer_version(scope, stem, version)
        if live:
            promotion.activate_version(scope, stem, version)
