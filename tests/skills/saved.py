"""Versions for tests of the book, without files or processes."""

from __future__ import annotations

import hashlib
from typing import Any

from core.database import Scope
from skills import book, promotion, runs, versions
from skills.manifest import Manifest
from skills.runs import Ended
from skills.versions import Version


def manifest(**permissions: Any) -> Manifest:
    return Manifest.model_validate({"title": "T", "purpose": "P", "permissions": permissions})


def saved(
    scope: Scope,
    stem: str,
    text: str,
    author: str = "person",
    author_ref: str | None = None,
    function_id: str = "work",
    **permissions: Any,
) -> Version:
    """A checked version of the skill, on its way."""
    skill = book.enter(scope, stem, origin="agent", path=f"/functions/{stem}.py")
    version = versions.add(
        scope,
        skill_id=stem,
        sha=hashlib.sha256(text.encode()).hexdigest(),
        source=text,
        author=author,
        author_ref=author_ref,
        reason="because",
        parent_id=skill.version_id,
        manifest=manifest(**permissions),
        functions=[{"id": f"skill-{stem}-{function_id}", "triggers": [{"event": "a/b"}]}],
    )
    promotion.offer(scope, stem, version)
    return versions.get(scope, version.id)


def live(scope: Scope, stem: str, text: str, author: str = "person") -> Version:
    version = saved(scope, stem, text, author)
    promotion.activate(scope, stem, version)
    return versions.get(scope, version.id)


def run(
    scope: Scope,
    version: Version,
    run_id: str,
    status: Ended | None = None,
    stage: str = "live",
    function_id: str = "work",
) -> None:
    """A run of the version's function, which ended so."""
    named = {"run_id": run_id, "skill_id": version.skill_id, "function_id": function_id, "version_id": version.id}
    handler = version.is_handler(function_id)
    runs.began(scope, **named, stage=stage, handler=handler, event={"name": "a/b", "data": {}})
    if status is not None:
        runs.ended(scope, run_id, status, output=1, attempts=1)
