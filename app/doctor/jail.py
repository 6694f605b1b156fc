"""How well are skills kept apart here?"""

from __future__ import annotations

import os

from app.doctor.finding import Finding, Verdict
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.probe import probe_isolation

_SUBJECT = "skills"


def look_at_jail() -> Finding:
    """Starts a skill's process as the sidecar would, to see what works and not only what is installed."""
    return judge_isolation(probe_isolation(), root=os.geteuid() == 0)


def judge_isolation(isolation: Isolation, *, root: bool) -> Finding:
    words = f"isolated by {isolation.words}; a hostile skill could still {'; '.join(isolation.gaps)}"
    match isolation.level:
        case Level.BUBBLEWRAP:
            return Finding(_SUBJECT, Verdict.OK, words)
        case Level.LIMITS if root and not isolation.fence:
            return Finding(
                _SUBJECT, Verdict.PROBLEM, f"{words}, as root: install bubblewrap, or run Loopwright as a user"
            )
        case _:
            return Finding(
                _SUBJECT, Verdict.NOTE, f"{words}: install bubblewrap where it is allowed to make namespaces"
            )
