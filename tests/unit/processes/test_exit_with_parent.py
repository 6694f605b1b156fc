"""A process ends with its parent also where the kernel does not see to it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import time
from app.processes.process import die_with_stdin
die_with_stdin()
print("up", flush=True)
time.sleep(60)
"""


def test_a_process_ends_when_its_standard_input_does() -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    assert process.poll() is None

    process.stdin.close()

    assert process.wait(10) == 1
    process.stdout.close()
