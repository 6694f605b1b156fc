from __future__ import annotations

import pytest

from app.doctor.finding import Verdict
from app.doctor.skills import judge_isolation, look_at_jail
from sidecar.jail.isolation import Isolation, Level

BEST = Isolation(Level.BUBBLEWRAP, own_user=True, own_network=True, counts_processes=True)
ALONE = Isolation(Level.BUBBLEWRAP, own_user=True, own_network=True, counts_processes=True, fences_runs=True)
SHARED = Isolation(Level.BUBBLEWRAP, own_user=False, own_network=True, counts_processes=False)
USER = Isolation(Level.USER, own_user=True, own_network=False, counts_processes=True)
LAST = Isolation(Level.LIMITS, own_user=False, own_network=False, counts_processes=False, refuses_calls=False)
FENCED = Isolation(Level.LIMITS, own_user=False, own_network=False, counts_processes=False, fence=7)


@pytest.mark.parametrize(
    ("isolation", "root", "verdict", "said", "unsaid"),
    [
        (BEST, True, Verdict.OK, "end other runs of its own version", "read files"),
        (ALONE, True, Verdict.OK, "files without a name", "end other runs"),
        (SHARED, False, Verdict.OK, "start many processes", "use the network"),
        (USER, True, Verdict.NOTE, "unix sockets", "keys included"),
        (LAST, False, Verdict.NOTE, "keys included", "as root"),
        (LAST, False, Verdict.NOTE, "use the network", "as root"),
        (FENCED, False, Verdict.NOTE, "outlive Loopwright", "keys included"),
        (FENCED, False, Verdict.NOTE, "unix sockets", "use the network"),
        (LAST, True, Verdict.PROBLEM, "as root", "own user id"),
    ],
)
def test_what_it_does_not_protect_from_is_said(
    isolation: Isolation, root: bool, verdict: Verdict, said: str, unsaid: str
) -> None:
    found = judge_isolation(isolation, root=root)

    assert found.verdict is verdict
    assert said in found.words
    assert unsaid not in found.words


def test_it_is_tried_and_not_only_looked_for() -> None:
    assert "isolated by" in look_at_jail().words
