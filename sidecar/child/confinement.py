"""Rights that a child gives up for good before it receives a skill.

For Linux; where the kernel lacks a feature, that right is kept.
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
    """What a child gives up.

    `user` is the user id it changes to, None to keep its own. `own_network`: it leaves the machine's network.
    `count_processes`: the limit on processes counts only this child's, so it can be set. `scratch` is the folder where
    it may write. `own_scratch`: that folder is a small file system which only this child uses. `mount_scratch`: the
    child mounts it itself. `refuse_calls`: see `system_calls`. `fence_runs`: each run changes only its own files and
    signals only itself.

    Paths that are neither `readable` nor `writable` are fenced off, see `landlock`; with nothing `readable` there is no
    fence.
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


def confine_process(confinement: Confinement) -> None:
    """Give up the rights; raises OSError when something fails that the probe found possible."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    _end_first_without_memory()
    if (
        libc is not None
        and confinement.own_network
        and libc.unshare(_CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS) != 0
    ):
        raise OSError(ctypes.get_errno(), "the network cannot be left")
    if libc is not None and confinement.mount_scratch:
        _mount_scratch(libc, confinement)
    _set_limits(confinement)
    if confinement.user is not None:
        os.setgroups([])
        os.setresgid(confinement.user, confinement.user, confinement.user)
        os.setresuid(confinement.user, confinement.user, confinement.user)
        # Fail now if this user may not read Python's files, for example in a home that only its owner may enter.
        for module in (os, sys.modules[Confinement.__module__]):
            Path(str(module.__file__)).read_bytes()
    if libc is not None:
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Where the child stays root, it keeps no capabilities.
        libc.capset(struct.pack("=Ii", _CAPABILITIES_VERSION, 0), bytes(24))
        # Orphans of a run become children of this process, so that none outlives it.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # No process of this user may read or change another's memory.
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        # The change of user cleared this setting.
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if confinement.readable:
            fence_in(libc, confinement.readable, confinement.writable)
        if confinement.refuse_calls and not refuse_system_calls(libc):
            raise OSError(ctypes.get_errno(), "system calls cannot be refused")


def _mount_scratch(libc: ctypes.CDLL, confinement: Confinement) -> None:
    """Mount a small file system that only this process sees; it is gone when the process ends."""
    owner = f",uid={confinement.user},gid={confinement.user}" if confinement.user is not None else ""
    options = f"size={confinement.limits.disk},mode=0700{owner}".encode()
    place = confinement.scratch.encode()
    if (
        libc.unshare(_CLONE_NEWNS) != 0
        or libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) != 0
        or libc.mount(b"tmpfs", place, b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options) != 0
    ):
        raise OSError(ctypes.get_errno(), "a scratch file system cannot be mounted")
    os.chdir(confinement.scratch)


def _set_limits(confinement: Confinement) -> None:
    limits = confinement.limits
    wanted = {
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.files,
    }
    if sys.platform == "linux":
        wanted[resource.RLIMIT_MSGQUEUE] = 0
    if confinement.count_processes:
        wanted[resource.RLIMIT_NPROC] = limits.processes
    for kind, most in wanted.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _end_first_without_memory() -> None:
    """Let the kernel end a skill before other processes when the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
