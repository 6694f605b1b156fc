"""How well skills' processes are isolated on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum

from sidecar.child.landlock import SIGNALS_SINCE


class Level(StrEnum):
    """Kinds of isolation, the best first.

    `bubblewrap`: the child sees only its own files, processes and network. `user`: each child has an unprivileged user
    id, and sees the machine's files as that user. `limits`: the child runs under our user id, with limits.
    """

    BUBBLEWRAP = "bubblewrap"
    USER = "user"
    LIMITS = "limits"


@dataclass(frozen=True)
class Isolation:
    """What was found to work.

    `own_user`: each child has its own user id. `own_network`: it has no network. `counts_processes`: the limit on
    processes counts only the child's. `refuses_calls`: the kernel refuses system calls that lead around the limits.
    `own_disk`: its files are on a file system of limited size, else they are counted from time to time. `fence`: the
    version of Landlock that shuts off the machine's files where the child sees them, 0 for none. `fences_runs`: a run
    can neither change files of other runs nor signal them. `interpreter` runs the child.
    """

    level: Level
    own_user: bool
    own_network: bool
    counts_processes: bool
    refuses_calls: bool = True
    own_disk: bool = False
    fence: int = 0
    fences_runs: bool = False
    interpreter: str = sys.executable

    @property
    def words(self) -> str:
        """A description for people."""
        match self.level:
            case Level.BUBBLEWRAP:
                whose = "a user id of its own" if self.own_user else "our user id"
                return f"bubblewrap, each child under {whose}"
            case Level.USER:
                return f"an unprivileged user id for each child{self._fences}, without bubblewrap"
            case Level.LIMITS:
                return f"limits only, under our user id{self._fences}"

    @property
    def _fences(self) -> str:
        had = (
            ("Landlock", self.fence),
            ("a system-call filter", self.refuses_calls),
            ("a small disk of its own", self.own_disk),
        )
        named = [name for name, there in had if there]
        return f" with {' and '.join(named)}" if named else ""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a hostile skill can still do, each in a few words; the kernel itself is trusted at every level."""
        found = []
        if self.level is not Level.BUBBLEWRAP:
            if not self.fence:
                whose = (
                    "that every user of this machine may read"
                    if self.own_user
                    else "that Loopwright can, keys included"
                )
                found.append(f"read files {whose}")
            found += [] if self.own_disk else ["fill the disk for a moment, or with files that have no name"]
            found += ["see other processes", "talk to unix sockets of others"]
        if not self.own_network and not self.refuses_calls:
            found.append("use the network")
        if self.level is Level.LIMITS:
            found.append(
                "outlive Loopwright" if self.fence >= SIGNALS_SINCE else "end Loopwright's processes and outlive it"
            )
        if not self.counts_processes:
            found.append("start many processes for a moment")
        if not self.refuses_calls:
            found.append("hold memory that no limit counts")
        if not self.fences_runs:
            found.append("end other runs of its own version and write to their files")
        found.append("take memory for files without a name from other runs of its own version, as long as it runs")
        return tuple(found)
