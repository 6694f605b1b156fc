"""Identity of a skill version at the broker: fixed when its socket is opened, never stated by the child."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skills.format.manifest import SkillManifest

IdentityMode = Literal["live", "shadow", "rehearsal", "loading"]


@dataclass(frozen=True)
class SkillIdentity:
    """One version of one skill. `granted` holds canonical permissions such as `host:metrics.example:9090`.

    `live` does what is asked. `rehearsal` answers from a recording and does nothing; `shadow` reads and thinks for
    real, and does nothing either. `loading` is code that nobody has found good yet: it is refused everything.
    """

    skill_id: str
    version_id: str
    sha: str
    manifest: SkillManifest
    granted: frozenset[str]
    mode: IdentityMode = "live"
