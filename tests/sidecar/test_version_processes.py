"""A version has one process, which may do what was granted when it started."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.jail.probe import probe_isolation
from sidecar.pool.child_process import ProcessLostError, SkillCode
from sidecar.pool.version_processes import VersionProcesses
from skills.format.manifest import read_manifest
from tests.support.jail_children import jailed
from tests.support.sidecar import hello

SOURCE = hello(1, "kept/asked").encode()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[VersionProcesses]:
    with jailed(tmp_path, probe_isolation()) as world:
        made = VersionProcesses(world.spawner)
        try:
            yield made
        finally:
            made.stop()


def _version(*granted: str) -> SkillCode:
    sha = hashlib.sha256(SOURCE).hexdigest()
    return SkillCode("kept", sha, SOURCE, "/kept.py", "sv_1", read_manifest(SOURCE), frozenset(granted))


@pytest.mark.long
def test_a_process_starts_anew_when_more_was_granted_since_it_started(processes: VersionProcesses) -> None:
    before = processes.child(_version())

    after = processes.child(_version("host:metrics.example:9090"))

    assert after.pid != before.pid
    assert not before.alive
    assert processes.child(_version("host:metrics.example:9090")) is after


@pytest.mark.long
def test_a_call_that_comes_while_a_process_keeps_ending_is_a_lost_one(processes: VersionProcesses) -> None:
    """Given a version whose process ends soon after each start, the call may go to a process of its own."""
    with pytest.raises(ProcessLostError, match="keeps ending"):
        end_again_and_again(processes)


def end_again_and_again(processes: VersionProcesses) -> None:
    for _ in range(4):
        process = processes.child(_version()).inmate.process
        process.kill()
        process.wait(10)
