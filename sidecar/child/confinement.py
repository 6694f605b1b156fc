"""Rights that a child gives up for good before it receives any skill.

Linux; where a feature is missing, that right stays as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sidecar.child.landlock import fence_in
from sidecar.child.limits import Limits
from sidecar.child.system_calls import refuse_system_calls

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 2, 4, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38
_CAPABILITIES_VERSION = 0x20080522


class Confinement(BaseModel):
    """`user` is the id the child changes to, None when it stays who it is. `own_network`: it leaves the machine's.

    `count_processes`: the limit on processes counts this child's alone, so that it can be set. `scratch` is where it
    may write, which is a file system by itself when `own_scratch`, and is made one first when `mount_scratch`.
    `refuse_calls`: see `system_calls`. `fence_runs`: each run changes files of its own only and signals only itself.
    What is not `readable` or `writable` is fenced off, see `landlock`; with nothing `readable` there is no fence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits
    user: int | None
    own_network: bool
    count_processes: bool
    refuse_calls: bool
    readable: list[str]
    writable: list[str]
    scratch: str
    own_scratch: bool
    mount_scratch: bool = False
    fence_runs: bool = False


def confine_process(asked: Confinement) -> None:
    """Raises OSError when something that was found possible is not."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    _be_first_to_go()
    if libc is not None and asked.own_network and libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS) != 0:
        raise OSError(ctypes.get_errno(), "the network cannot be left")
    if libc is not None and asked.mount_scratch:
        _mount_scratch(libc, asked)
    _set_limits(asked)
    if asked.user is not None:
        os.setgroups([])
        os.setresgid(asked.user, asked.user, asked.user)
        os.setresuid(asked.user, asked.user, asked.user)
        # Python reads many of its files late; a home that only its owner may enter would keep them from this user.
        for module in (os, sys.modules[Confinement.__module__]):
            Path(str(module.__file__)).read_bytes()
    if libc is not None:
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Root that stays root keeps no power beyond its files.
        libc.capset(struct.pack("=Ii", _CAPABILITIES_VERSION, 0), bytes(24))
        # Orphans of a run become ours, so that none outlives it.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # No process of this user may read or change another's memory.
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        # A change of user cleared it.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if asked.readable:
            fence_in(libc, asked.readable, asked.writable)
        if asked.refuse_calls and not refuse_system_calls(libc):
            raise OSError(ctypes.get_errno(), "system calls cannot be refused")


def _mount_scratch(libc: ctypes.CDLL, asked: Confinement) -> None:
    """Nobody else sees it, it holds no more than the limit, and it is gone with this process."""
    owner = f",uid={asked.user},gid={asked.user}" if asked.user is not None else ""
    options = f"size={asked.limits.disk},mode=0700{owner}".encode()
    place = asked.scratch.encode()
    if (
        libc.unshare(_CLONE_NEWNS) != 0
        or libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) != 0
        or libc.mount(b"tmpfs", place, b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options) != 0
    ):
        raise OSError(ctypes.get_errno(), "no disk of its own can be mounted")
    os.chdir(asked.scratch)


def _set_limits(asked: Confinement) -> None:
    limits = asked.limits
    wanted = {
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.files,
    }
    if sys.platform == "linux":
        wanted[resource.RLIMIT_MSGQUEUE] = 0
    if asked.count_processes:
        wanted[resource.RLIMIT_NPROC] = limits.processes
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _be_first_to_go() -> None:
    """When the machine runs out of memory, a skill ends before anybody else."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
