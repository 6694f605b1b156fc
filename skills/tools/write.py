"""The tool that writes a skill: check the text, announce the save, save it, and report the result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.tools import CallContext, Effect, ToolResult
from runtime.turns.ledger import store_original
from skills.book import drafts, versions
from skills.book.skill import find_skill, lock_skill, touch_skill
from skills.checks import check_source
from skills.lifecycle import save_status
from skills.lifecycle.save_status import SaveStatus
from skills.tools import change_card
from skills.tools.folder import AgentSkillFolder, require_home_workspace, save_file, sha_of
from skills.tools.summary import problem_lines


class Edit(BaseModel):
    """Put `replace` where `find` stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    find: str = Field(min_length=1, max_length=20_000)
    replace: str = Field(max_length=100_000)


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """Apply all edits in order; raises InvalidError unless each `find` occurs exactly once."""
    for n, edit in enumerate(edits, start=1):
        count = source.count(edit.find)
        if count != 1:
            what = "is not in the source" if count == 0 else f"stands there {count} times"
            raise InvalidError(f"edit {n}: {edit.find[:80]!r} {what}; nothing was changed: quote more of it, exactly")
        source = source.replace(edit.find, edit.replace)
    return source


_PAUSE_SECONDS = 0.1
# Shorter arguments stay whole in the history.
_SEEN_WHOLE = 5_000
_ON_ITS_WAY = frozenset(("unseen", "checked"))
# Earlier stages of the same text; unless it is held, this save offers it again.
_OLD = frozenset(("superseded", "rolled_back", "quarantined", "retired", "refused"))
_UNSUCCESSFUL = frozenset(("refused", "quarantined", "retired", "rolled_back"))
_SAYS = {
    "unseen": "saved; the sidecar has not looked at it yet: see read_skill later",
    "checked": "checked; it is on its way, or its skill is turned off",
    "waiting": "checked; it goes live when a person grants on the card what it asks for: the answer is brought to you",
    "dry_run": "checked; it is tried on recorded runs while the version before it serves",
    "shadow": "checked; it runs beside the version that serves, without effects",
    "canary": "checked; the next few runs begin on it, then it serves alone",
    "active": "live",
    "superseded": "it was live, and a newer version serves now",
    "rolled_back": "a person went back to an earlier version from it; that one serves",
    "refused": "it does not serve; what served before goes on",
    "quarantined": "it failed again and again and was taken out; what served before goes on",
    "retired": "the skill is retired",
}


class WriteSkillArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=80, description="the file's name without .py")
    source: str | None = Field(None, min_length=1, max_length=262_144, description="the whole file")
    edits: list[Edit] = Field(
        default_factory=list, max_length=30, description="or what to change in base_version; each `find` stands once"
    )
    reason: str = Field(min_length=1, max_length=2000, description="why, for whoever looks at this version later")
    base_version: int | None = Field(None, ge=1, le=10**6, description="the version your change is based on")
    card_id: str | None = Field(
        None, max_length=64, description="or the card on which a person accepted your change of their own file"
    )

    @model_validator(mode="after")
    def _says_what_to_write(self) -> Self:
        if [self.source is not None, bool(self.edits), self.card_id is not None].count(True) != 1:
            raise ValueError("give the whole source, or edits of base_version, or the card that accepted a change")
        if self.edits and self.base_version is None:
            raise ValueError("edits need base_version")
        return self


class WriteSkill:
    """Write a durable skill, or its next version."""

    name = "write_skill"
    domain = "skills"
    effect = Effect.WRITE
    repeatable = True
    description = (
        "Write a durable skill, one Python file, or a new version of one: read the guide `writing-skills` first. It is "
        "checked before it is saved; `problems` name line, reason and fix: correct them all and write again. A good "
        "file goes live by itself, or waits for a person's card when it asks for new permissions. A person's own file "
        "is changed upon its base_version only, and after they accept the change on a card. So is a shipped one, but "
        "without a card: your change is kept as a version, and the shipped file stays as it is."
    )
    arguments: type[BaseModel] = WriteSkillArguments

    def __init__(self, folder: AgentSkillFolder) -> None:
        self._folder = folder

    def run(self, call: CallContext, arguments: WriteSkillArguments) -> ToolResult:
        require_home_workspace(call.workspace_id)
        of_people = self._folder.of_people(arguments.name)
        if of_people is not None and arguments.card_id is not None:
            return self._save_accepted(call, of_people, arguments.card_id, arguments.reason)
        if of_people is not None and arguments.base_version is not None:
            return self._propose_change(call, of_people, arguments)
        if arguments.card_id is not None:
            raise InvalidError(f"{arguments.name[:80]} is no person's file: give the source, or edits of base_version")
        if arguments.base_version is not None and self._folder.is_shipped(arguments.name):
            return self._change_shipped(call, arguments.name, arguments)
        stem = self._folder.free_stem(arguments.name)
        self._folder.check_room(stem)
        text = self._text(call, stem, arguments)
        source = text.encode("utf-8", "surrogatepass")
        sha = sha_of(source)
        if (refused := self._refusal_of(call, stem, text)) is not None:
            return refused
        with call.transaction("skill.announced") as scope:
            seen = self._announce_agent_file(scope, call.call_id, stem, sha, arguments)
        # A repeated call does not save again: the file may hold something newer by now.
        fresh = seen.state == "unseen"
        if fresh:
            self._folder.write(stem, source)
        return self._result(stem, self._await_status(call, stem, sha, _ON_ITS_WAY | _OLD if fresh else _ON_ITS_WAY))

    def _refusal_of(self, call: CallContext, stem: str, text: str) -> ToolResult | None:
        """Return the result with the problems that the checks find, None if there are none."""
        others = {**self._folder.own(), **self._folder.elsewhere()}
        others.pop(stem, None)
        found = check_source(text.encode("utf-8", "surrogatepass"), stem, others)
        if not found:
            return None
        content = {
            "skill_id": stem,
            "written": False,
            "problems": problem_lines(found),
            **_keep_long_source(call, text),
        }
        return ToolResult(content, ok=False)

    def _propose_change(self, call: CallContext, path: Path, arguments: WriteSkillArguments) -> ToolResult:
        """Open the card for a change of a person's own file; nothing is saved."""
        text = self._text(call, path.stem, arguments)
        if (refused := self._refusal_of(call, path.stem, text)) is not None:
            return refused
        with call.reading() as scope:
            base = versions.get_version_by_number(scope, path.stem, arguments.base_version or 0)
        shown = change_card.describe_change(base, text)
        with call.transaction("skill.proposed") as scope:
            card = change_card.open_change_card(scope, call, path, base, text, arguments.reason, shown)
        says = (
            "a person sees the change on the card; once they accept it, call write_skill with name, reason and card_id"
        )
        return ToolResult({"skill_id": path.stem, "written": False, "card_id": card.id, "says": says})

    def _save_accepted(self, call: CallContext, path: Path, card_id: str, reason: str) -> ToolResult:
        """Save an accepted change. Raises ConflictError if the file was saved by another since."""
        stem = path.stem
        with call.transaction("skill.announced") as scope:
            change = change_card.read_accepted_change(scope, call, card_id, stem)
            sha, base = sha_of(change.source.encode()), versions.get_version(scope, change.base_id)
            fresh = change_card.needs_saving(path, base, change.source)
            if fresh:
                self._announce(scope, call.call_id, stem, sha, reason, base.id)
        if fresh:
            # Follow a link, so that the person's own file changes.
            save_file(path.resolve(), change.source.encode())
        return self._result(stem, self._await_status(call, stem, sha, _ON_ITS_WAY | _OLD if fresh else _ON_ITS_WAY))

    def _change_shipped(self, call: CallContext, stem: str, arguments: WriteSkillArguments) -> ToolResult:
        """Change a shipped skill: the draft passes the source to the sidecar, and the shipped file stays."""
        text = self._text(call, stem, arguments)
        sha = sha_of(text.encode("utf-8", "surrogatepass"))
        if (refused := self._refusal_of(call, stem, text)) is not None:
            return refused
        with call.transaction("skill.announced") as scope:
            skill = lock_skill(scope, stem)
            known, seen = drafts.find_draft(scope, stem, sha), save_status.read_save_status(scope, stem, sha)
            made_again = known is not None and known.author_ref == call.call_id
            if seen.state not in {"active", "refused"} and not made_again:
                base_id = versions.get_version_by_number(scope, stem, arguments.base_version or 0).id
                self._announce(scope, call.call_id, stem, sha, arguments.reason, base_id, text)
                touch_skill(scope, skill)
        passing = _ON_ITS_WAY if made_again else _ON_ITS_WAY | _OLD
        return self._result(stem, self._await_status(call, stem, sha, passing))

    @staticmethod
    def _text(call: CallContext, stem: str, arguments: WriteSkillArguments) -> str:
        if arguments.source is not None:
            return arguments.source
        with call.reading() as scope:
            return apply_edits(
                versions.get_version_by_number(scope, stem, arguments.base_version or 0).source, arguments.edits
            )

    def _announce_agent_file(
        self, scope: Scope, call_id: str, stem: str, sha: str, arguments: WriteSkillArguments
    ) -> SaveStatus:
        """Announce the coming save as this call's. Raises ConflictError if it would overwrite another's save."""
        known = drafts.find_draft(scope, stem, sha)
        seen = save_status.read_save_status(scope, stem, sha)
        if known is not None and known.author_ref == call_id and seen.state != "unseen":
            return seen
        base_id = self._base_id(scope, stem, sha, arguments.base_version)
        self._announce(scope, call_id, stem, sha, arguments.reason, base_id)
        # Content that was refused or superseded before is offered again by saving it.
        return SaveStatus("unseen", seen.version, ()) if seen.state != "active" else seen

    def _announce(
        self,
        scope: Scope,
        call_id: str,
        stem: str,
        sha: str,
        reason: str,
        base_id: str | None,
        source: str | None = None,
    ) -> None:
        drafts.announce_save(
            scope,
            skill_id=stem,
            sha=sha,
            author="agent",
            author_ref=call_id,
            reason=reason,
            base_id=base_id,
            per_day=self._folder.edits_per_day,
            source=source,
        )

    def _base_id(self, scope: Scope, stem: str, sha: str, number: int | None) -> str | None:
        """Return the id of the version that the change is based on, None for a new skill.

        Raises ConflictError if the file holds what the agent has not read, InvalidError if no version is named.
        """
        skill = find_skill(scope, stem)
        newest = versions.list_versions(scope, stem, 1)
        saved = self._folder.saved_sha(stem)
        if skill is None or not newest:
            if saved is not None and not self._is_known(scope, stem, saved, sha, skill.refused_sha if skill else ""):
                raise ConflictError(f"there is a file {stem}.py that you have not read: read_skill first")
            return None
        if number is None:
            raise InvalidError(f"{stem} has {newest[0].number} versions: read it, and say base_version")
        base = versions.get_version_by_number(scope, stem, number)
        if saved is not None and saved != base.sha and not self._is_known(scope, stem, saved, sha, skill.refused_sha):
            raise ConflictError(
                f"{stem}.py was saved by another after version {number}: read_skill, and base your change on it",
                current_version=newest[0].number,
            )
        return base.id

    @staticmethod
    def _is_known(scope: Scope, stem: str, saved: str, ours: str, refused: str) -> bool:
        """Return whether the file holds a version, this text, a draft of the agent, or refused content."""
        draft = drafts.find_draft(scope, stem, saved)
        version = versions.find_version_by_sha(scope, stem, saved)
        return saved in (ours, refused) or draft is not None or version is not None

    def _await_status(self, call: CallContext, stem: str, sha: str, passing: frozenset[str]) -> SaveStatus:
        """Wait until the state is none of the `passing` ones, up to `patience_seconds`, and return the status.

        No transaction is held while waiting.
        """
        deadline = time.monotonic() + self._folder.patience_seconds
        while True:
            with call.reading() as scope:
                found = save_status.read_save_status(scope, stem, sha)
                skill = find_skill(scope, stem)
            final = found.held or found.state not in passing
            off = found.state == "checked" and skill is not None and not skill.enabled
            if final or off:
                return found
            if time.monotonic() >= deadline:
                return SaveStatus("unseen", found.version, ()) if found.state in _OLD else found
            time.sleep(_PAUSE_SECONDS)

    @staticmethod
    def _result(stem: str, found: SaveStatus) -> ToolResult:
        content: dict[str, Any] = {"skill_id": stem, "written": True, "status": found.state, "says": _SAYS[found.state]}
        if found.version is not None:
            content["version"] = found.version.number
            content |= _card_id_of(found.version.stage_facts) if found.state == "waiting" else {}
        if found.problems:
            content["problems"] = problem_lines(found.problems)
        return ToolResult(content, ok=found.state not in _UNSUCCESSFUL)


def _keep_long_source(call: CallContext, source: str) -> dict[str, Any]:
    """Store a long refused source for `read_back`, since the history shows its author only a part."""
    if len(source) <= _SEEN_WHOLE:
        return {}
    with call.transaction("skill.kept") as scope:
        return {"source_is_kept": store_original(scope, call.call_id, source)}


def _card_id_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"card_id": facts["card_id"]} if "card_id" in facts else {}
