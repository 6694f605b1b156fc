"""A run that finds no place of its own was not begun, and may be called again."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from sidecar.child.ipc import ReplyHead, receive_frame
from sidecar.child.zygote import CALL_SECONDS

ZYGOTE = """
import socket, sys
from pathlib import Path
from sidecar.child.limits import Limits
from sidecar.child.scratch import Scratch
from sidecar.child.zygote import Zygote

def fence(folder):
    raise OSError(28, "no space left on device")

calls, limits = socket.socket(fileno=int(sys.argv[1])), Limits()
scratch = Scratch(Path(sys.argv[2]), own=False, disk=limits.disk)
Zygote(calls, lambda connection: print("answered", flush=True), scratch, limits, fence).serve()
"""


def test_a_run_without_a_place_of_its_own_was_not_begun(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, "-c", ZYGOTE, str(theirs.fileno()), str(tmp_path)]
    zygote = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE)
    with zygote, ours, theirs:
        mine, its = socket.socketpair()
        with mine:
            with its:
                socket.send_fds(ours, [CALL_SECONDS.pack(20.0)], [its.fileno()])
            mine.settimeout(30)
            head, _ = receive_frame(mine, ReplyHead, until=time.monotonic() + 30, most=1000)
        ours.close()
        theirs.close()
        said, _ = zygote.communicate(timeout=30)

    assert (head.begun, said) == (False, b"")
    assert head.ended is not None
    assert "no space left on device" in head.ended
