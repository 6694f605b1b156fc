"""A skill as the book showed it last."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.tools import Tools
from skills import book, versions
from skills.versions import Version


@dataclass(frozen=True)
class Seen:
    """The skill's row with the versions that it names; `serving` only while one serves, `last` also afterwards."""

    row: book.Skill | None = None
    serving: Version | None = None
    candidate: Version | None = None
    last: Version | None = None

    @property
    def tried(self) -> Version | None:
        """The candidate, if it may run: what waits for a person starts anew with what it was granted."""
        if self.row is None or not self.row.enabled or self.candidate is None or self.candidate.stage == "waiting":
            return None
        return self.candidate


def look(tools: Tools, stem: str) -> Seen:
    with tools.reading() as scope:
        row = book.find(scope, stem)
        if row is None:
            return Seen()
        last = versions.get(scope, row.version_id) if row.version_id else None
        candidate = versions.get(scope, row.candidate_id) if row.candidate_id else None
        return Seen(row, last if row.serves else None, candidate, last)
