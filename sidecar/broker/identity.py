"""Identity of a skill version at the broker: set by the sidecar when it opens the socket, never by the child."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skills.format.manifest import SkillManifest

IdentityMode = Literal["live", "shadow", "rehearsal", "loading"]


@dataclass(frozen=True)
class SkillIdentity:
    """One version of one skill. `granted` holds canonical permissions such as `host:metrics.example:9090`.

    Mode `live` performs requests. `rehearsal` answers from a recording and performs nothing. `shadow` reads and asks
    the model for real, and performs no effect. `loading` is code that has not passed the checks: everything is refused.
    """

    skill_id: str
    version_id: str
    sha: str
    manifest: SkillManifest
    granted: frozenset[str]
    mode: IdentityMode = "live"
