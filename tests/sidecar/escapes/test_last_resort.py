"""Whatever a skill started ends with the sidecar, however the sidecar ends."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from sidecar.jail.isolation import Isolation, Level

# A sidecar of a few lines: one child with daemons and a run that neither listens nor ends, and a spare.
SIDECAR = """
import sys, threading, time
from pathlib import Path
from sidecar.jail.isolation import Isolation, Level
from tests.support.jailed import jailed, subject

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
level, own_user, own_network, counts, interpreter = sys.argv[2:]
isolation = Isolation(Level(level), own_user == "1", own_network == "1", counts == "1", interpreter)
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


def test_nothing_outlives_a_killed_sidecar(isolation: Isolation, tmp_path: Path) -> None:
    flags = [str(int(flag)) for flag in (isolation.own_user, isolation.own_network, isolation.counts_processes)]
    argv = [sys.executable, "-c", SIDECAR, str(tmp_path), isolation.level.value, *flags, isolation.interpreter]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"running\n"
        family = descendants(process.pid)
        process.kill()
    assert len(family) >= (8 if isolation.level is Level.BUBBLEWRAP else 5)
    deadline = time.monotonic() + 10
    while (left := family & set(parents())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == set()
