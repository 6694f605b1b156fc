"""Versions for tests of the book, without files or processes."""

from __future__ import annotations

import hashlib
from typing import Any

from core.database import Scope
from skills.book import runs, versions
from skills.book.runs import EndStatus
from skills.book.skill import enter_skill
from skills.book.versions import CheckedVersion
from skills.format.manifest import SkillManifest
from skills.lifecycle import promotion


def skill_manifest(**permissions: Any) -> SkillManifest:
    return SkillManifest.model_validate({"title": "T", "purpose": "P", "permissions": permissions})


def save_version(
    scope: Scope,
    stem: str,
    text: str,
    author: str = "person",
    author_ref: str | None = None,
    function_id: str = "work",
    **permissions: Any,
) -> CheckedVersion:
    """A checked version of the skill, on its way."""
    skill = enter_skill(scope, stem, origin="agent", path=f"/functions/{stem}.py")
    version = versions.add_version(
        scope,
        skill_id=stem,
        sha=hashlib.sha256(text.encode()).hexdigest(),
        source=text,
        author=author,
        author_ref=author_ref,
        reason="because",
        parent_id=skill.version_id,
        manifest=skill_manifest(**permissions),
        functions=[{"id": f"skill-{stem}-{function_id}", "triggers": [{"event": "a/b"}]}],
    )
    promotion.offer_version(scope, stem, version)
    return versions.get_version(scope, version.id)


def save_live_version(scope: Scope, stem: str, text: str, author: str = "person") -> CheckedVersion:
    version = save_version(scope, stem, text, author)
    promotion.activate_version(scope, stem, version)
    return versions.get_version(scope, version.id)


def record_run(
    scope: Scope,
    version: CheckedVersion,
    run_id: str,
    status: EndStatus | None = None,
    stage: str = "live",
    function_id: str = "work",
) -> None:
    """A run of the version's function, which ended so."""
    named = {"run_id": run_id, "skill_id": version.skill_id, "function_id": function_id, "version_id": version.id}
    handler = version.is_handler(function_id)
    runs.record_run_start(scope, **named, stage=stage, handler=handler, event={"name": "a/b", "data": {}})
    if status is not None:
        runs.record_run_end(scope, run_id, status, output=1, attempts=1)
