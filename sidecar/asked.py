"""Rehearsals that somebody asked for: on an event of their choosing, reading for real, with every effect faked."""

from __future__ import annotations

import hashlib

from sidecar.tools import Tools
from skills import rehearsing
from skills.rehearsing import Test
from skills.runs import SkillRun
from skills.versions import Version


def is_asked(version: Version) -> bool:
    """Whether somebody waits for it to be tried."""
    asked = rehearsing.known_test(version)
    return asked is not None and asked.trial is None


def answer_test(tools: Tools, version: Version) -> bool:
    """Try the version as it was asked, and write down how that went; False when nobody waits for it."""
    asked = rehearsing.known_test(version)
    if asked is None or asked.trial is not None:
        return False
    trial = tools.rehearse(version, [_imagined(tools, version, asked)], live=True)
    with tools.transaction("skill-tested") as scope:
        rehearsing.answer(scope, version, asked.cause, trial)
    return True


def _imagined(tools: Tools, version: Version, asked: Test) -> SkillRun:
    """A run that never was: nothing of it is recorded, and it returned nothing."""
    with tools.reading() as scope:
        now = scope.now
    return SkillRun(
        run_id=f"test-{hashlib.sha256(asked.cause.encode()).hexdigest()[:16]}",
        skill_id=version.skill_id,
        function_id=asked.function_id,
        version_id=version.id,
        handler=version.is_handler(asked.function_id),
        stage="live",
        status="completed",
        attempts=1,
        event=asked.event,
        output=None,
        error=None,
        began_at=now,
        called_at=now,
        ended_at=now,
    )
