"""System calls that no skill needs and that lead around its limits: the kernel refuses them for good.

Namespaces would give a process rights to mount and to fill memory that no limit counts. Neither files in memory nor
shared anonymous memory are counted. A listening socket keeps what was sent to it in the kernel. Sockets other than unix
ones lead past the broker. Some resources are few for a whole machine or for all processes of a user.

Everything else is allowed: this is the second wall, not the first.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from pathlib import Path

_PR_SET_SECCOMP, _FILTER_MODE = 22, 2
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
# Where `struct seccomp_data` holds the number, the architecture and the lower halves of arguments.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _FOURTH_ARGUMENT = 0, 4, 16, 24, 40
_X32 = 0x40000000
_CLONE_NEW = 0x7E020000
_AF_UNIX = 1
_SHARED_WITHOUT_A_FILE = 0x21

# System call numbers on x86-64 and on arm64.
_REFUSED = {
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "inotify_init": (253, 26),
    "inotify_init1": (294, 26),
    "io_setup": (206, 0),
    "io_uring_setup": (425, 425),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "memfd_secret": (447, 447),
    "listen": (50, 201),
    "mount": (165, 40),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "request_key": (249, 218),
    "semget": (64, 190),
    "setns": (308, 268),
    "shmget": (29, 194),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# Reported as missing, since callers have a fallback for that.
_ABSENT = {"clone3": (435, 435), "memfd_create": (319, 279)}
# Allowed when these arguments are zero, which means the caller itself. Otherwise they would limit or slow down another
# process of the same user.
_ON_ITSELF = {
    "migrate_pages": ((256, 238), (_FIRST_ARGUMENT,)),
    "move_pages": ((279, 239), (_FIRST_ARGUMENT,)),
    "prlimit64": ((302, 261), (_FIRST_ARGUMENT,)),
    "sched_setaffinity": ((203, 122), (_FIRST_ARGUMENT,)),
    "sched_setattr": ((314, 274), (_FIRST_ARGUMENT,)),
    "sched_setparam": ((142, 118), (_FIRST_ARGUMENT,)),
    "sched_setscheduler": ((144, 119), (_FIRST_ARGUMENT,)),
    "setpriority": ((141, 140), (_FIRST_ARGUMENT, _SECOND_ARGUMENT)),
}
_CLONE, _MMAP, _SOCKET = (56, 220), (9, 222), (41, 198)
# The column of the tables above, and the number that the filter sees for the architecture.
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def can_refuse_system_calls() -> bool:
    """Return whether the kernel and the machine support this."""
    return platform.machine() in _MACHINES and sys.maxsize > 2**32 and Path("/proc/sys/kernel/seccomp").exists()


def refuse_system_calls(libc: ctypes.CDLL) -> bool:
    """Refuse them for this process and its descendants; return False when the kernel does not agree.

    Call only where `can_refuse_system_calls`.
    """
    code = b"".join(_instructions(*_MACHINES[platform.machine()]))
    program = _Program(len(code) // 8, code)
    return int(libc.prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0)) == 0


def _instructions(column: int, architecture: int) -> list[bytes]:
    """Write a classic BPF program. A jump holds how many instructions to skip when its test is true, and when false."""
    found = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, architecture, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if column == 0:
        # The x32 interface has the same calls under other numbers.
        found += [_op(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _ERRNO | errno.ENOSYS)]
    for names, error in ((_REFUSED, errno.EPERM), (_ABSENT, errno.ENOSYS)):
        for numbers in names.values():
            found += [_op(_EQUAL, numbers[column], 0, 1), _op(_RETURN, _ERRNO | error)]
    for numbers, arguments in _ON_ITSELF.values():
        found += [_op(_EQUAL, numbers[column], 0, 2 * len(arguments) + 2)]
        for left, argument in zip(range(len(arguments), 0, -1), arguments, strict=True):
            found += [_op(_LOAD, argument), _op(_EQUAL, 0, 0, 2 * left - 1)]
        found += [_op(_RETURN, _ALLOW), _op(_RETURN, _ERRNO | errno.EPERM)]
    # Refuse a clone with new namespaces.
    found += [_op(_EQUAL, _CLONE[column], 0, 4), _op(_LOAD, _FIRST_ARGUMENT), _op(_ANY_BIT, _CLONE_NEW, 0, 1)]
    found += [_op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)]
    found += [_op(_EQUAL, _MMAP[column], 0, 5), _op(_LOAD, _FOURTH_ARGUMENT), _op(_AND, _SHARED_WITHOUT_A_FILE)]
    found += [_op(_EQUAL, _SHARED_WITHOUT_A_FILE, 0, 1), _op(_RETURN, _ERRNO | errno.EPERM), _op(_RETURN, _ALLOW)]
    found += [_op(_EQUAL, _SOCKET[column], 0, 3), _op(_LOAD, _FIRST_ARGUMENT), _op(_EQUAL, _AF_UNIX, 1, 0)]
    return [*found, _op(_RETURN, _ERRNO | errno.EAFNOSUPPORT), _op(_RETURN, _ALLOW)]


def _op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
