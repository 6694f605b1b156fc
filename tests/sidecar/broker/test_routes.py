"""The kit's way to the broker, used by several threads of a run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from skills.kit import runs
from skills.kit.door import door
from tests.support.skill_world import SkillWorld


def test_threads_that_ask_first_at_once_share_one_client(world: SkillWorld) -> None:
    """One that nobody knows is closed by nobody, and neither is its connection."""
    for _ in range(50):
        world.speak_as("watch", known=not world.sockets)
        together = threading.Barrier(4)

        def first(together: threading.Barrier = together) -> int:
            together.wait(10)
            return id(door.http())

        with ThreadPoolExecutor(4) as threads:
            clients = {one.result() for one in [threads.submit(first) for _ in range(4)]}
        assert clients == {id(door.http())}
    assert len(runs()) == 1
