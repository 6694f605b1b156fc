"""A call that lost its process has another one, alone where there is room for that."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.orchestrator.engine import Engine
from sidecar.jail.probe import probe_isolation
from sidecar.pool.child_process import ChildProcess, EndedError
from sidecar.rollout.dependencies import SidecarDependencies
from sidecar.rollout.skill_processes import SkillProcesses
from skills.book.versions import CheckedVersion
from tests.sidecar.local_registry import open_gate
from tests.sidecar.test_called_again import never_tried
from tests.skills.saved_versions import save_live_version
from tests.support.databases import Store
from tests.support.jail_children import engine_request, jailed, subject
from tests.support.waiting import until

pytestmark = pytest.mark.long
PATH = "/subject.py"


@pytest.fixture
def version(store: Store) -> CheckedVersion:
    with store.database.transaction(store.workspace_id) as scope:
        return save_live_version(scope, "subject", subject("import time\ntime.sleep(60)"))


@pytest.fixture
def processes(store: Store, tmp_path: Path) -> Iterator[SkillProcesses]:
    with jailed(tmp_path, probe_isolation()) as world, ThreadPoolExecutor(1) as checkers:
        dependencies = SidecarDependencies(
            store.database, Engine.at("http://127.0.0.1:9"), "", world.spawner, open_gate, never_tried, checkers
        )
        made = SkillProcesses("subject", dependencies)
        yield made
        made.stop()


def test_few_are_alone_and_the_others_share_a_new_process(processes: SkillProcesses, version: CheckedVersion) -> None:
    """Given a process that has ended, when three calls lost it, then two are alone, and the third has the next one."""
    lost = processes.child(version, PATH)
    lost.inmate.process.kill()
    lost.inmate.process.wait(10)

    with ExitStack() as stack:
        found = [stack.enter_context(processes.separate_child(version, PATH)) for _ in range(3)]
        # What was left of the lost one is gone.
        assert not lost.inmate.folder.exists()
        assert all(child.alive for child in found)
        assert len({child.pid for child in (lost, *found)}) == 4
        assert processes.child(version, PATH) is found[2]
    assert [child.alive for child in found] == [False, False, True]


def test_a_run_that_loses_a_process_that_it_has_alone_has_ended_it(
    processes: SkillProcesses, version: CheckedVersion
) -> None:
    with pytest.raises(EndedError, match="the run took the process that it came from"):
        call_again(processes, version)


def call_again(processes: SkillProcesses, version: CheckedVersion) -> None:
    """And end the process that the run comes from, once it is at work."""
    with processes.separate_child(version, PATH) as child:
        killer = threading.Thread(target=kill_at_work, args=(child,))
        killer.start()
        child.call("POST", *engine_request("main"), {"content-type": "application/json"})


def kill_at_work(child: ChildProcess) -> None:
    until("it is at work", lambda: child.busy)
    time.sleep(0.5)
    child.inmate.process.kill()
