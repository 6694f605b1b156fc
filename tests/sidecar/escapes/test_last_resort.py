"""Whatever a skill started ends with the sidecar, however the sidecar ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.jail import Jail

pytestmark = pytest.mark.long

# A sidecar of a few lines: one child with daemons and a run that neither listens nor ends, and a spare.
SIDECAR = """
import json, sys, threading, time
from pathlib import Path
from sidecar.jail.isolation import Isolation, Level
from tests.support.jail_children import jailed, subject

SOURCE = '''
import ctypes, os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.fork()
        while True:
            time.sleep(600)
while True:
    pass
'''
AT_LOAD = "\\nimport ctypes\\nctypes.CDLL(None).prctl(1, 0, 0, 0, 0)\\n"
told = json.loads(sys.argv[2])
isolation = Isolation(Level(told.pop("level")), **told)
with jailed(Path(sys.argv[1]), isolation) as prison:
    child = prison.boot(subject(SOURCE) + AT_LOAD)
    threading.Thread(target=prison.run, args=[child], daemon=True).start()
    time.sleep(1)
    print("running", flush=True)
    time.sleep(600)
"""


def descendants(pid: int) -> set[int]:
    found, new = set(), {pid}
    while new:
        found |= new
        new = {child for child, parent in parents().items() if parent in found} - found
    return found - {pid}


def parents() -> dict[int, int]:
    told = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if state != "Z":
            told[int(name.split()[0])] = int(parent)
    return told


def killed(isolation: Isolation, folder: Path) -> set[int]:
    """The processes that there were below a sidecar when it was killed."""
    argv = [sys.executable, "-c", SIDECAR, str(folder), json.dumps(asdict(isolation))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        family = descendants(process.pid)
        process.kill()
    assert len(family) >= (8 if isolation.level is Level.BUBBLEWRAP else 5)
    return family


def left_of(family: set[int]) -> set[int]:
    """Those that are there after a while."""
    deadline = time.monotonic() + 10
    while (left := family & set(parents())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def test_nothing_outlives_a_killed_sidecar(isolation: Isolation, tmp_path: Path) -> None:
    if isolation.level is not Level.BUBBLEWRAP:
        pytest.skip(f"only bubblewrap ends a process that does not want to; this machine has {isolation.words}")
    assert left_of(killed(isolation, tmp_path)) == set()


@pytest.mark.kill
def test_without_bubblewrap_what_outlives_it_ends_when_the_next_one_starts(
    without_bubblewrap: Isolation, tmp_path: Path
) -> None:
    family = killed(without_bubblewrap, tmp_path)
    Jail(tmp_path / "run", without_bubblewrap).close()
    assert left_of(family) == set()
