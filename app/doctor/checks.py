"""Are the programs there that check skill files?"""

from __future__ import annotations

from collections.abc import Sequence

from app.doctor.finding import Finding, Verdict
from skills.checks.gate import missing_tools

_SUBJECT = "skill checks"


def look_at_checks() -> Finding:
    return judge_checks(missing_tools())


def judge_checks(missing: Sequence[str]) -> Finding:
    """A file is checked without them too, but then nobody looks at its names or its types."""
    if not missing:
        return Finding(_SUBJECT, Verdict.OK, "syntax, permissions, lint (ruff) and types (ty)")
    words = f"{' and '.join(missing)} not found beside this Python or on the path: `make install` brings both"
    return Finding(_SUBJECT, Verdict.PROBLEM, words)
