"""What a run does to its process, or starts beside it, hurts that run only."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors import UnavailableError
from sidecar.jail.isolation import Level
from sidecar.pool.child_process import ProcessLostError
from skills.format.problem import RefusedSkillError
from tests.support.jail_children import JailChildren, subject

pytestmark = pytest.mark.long


def ends(prison: JailChildren, body: str, reason: str, seconds: float | None = None) -> None:
    """The run of a function that does this ends without an answer, for a reason that can be read."""
    with pytest.raises(UnavailableError, match=reason):
        prison.reply(body, seconds=seconds)


def others_go_on(prison: JailChildren) -> None:
    """Another run of the same child."""
    assert prison.output("return 'fine'") == "fine"


DEATHS = {
    "os._exit(3)": "exited with status 3",
    "os._exit(0)": "exited with status 0",
    "os.kill(os.getpid(), 9)": "killed",
    "os.abort()": "SIGABRT",
    "ctypes.string_at(0)": "SIGSEGV",
}


@pytest.mark.parametrize("death", DEATHS)
def test_a_run_that_ends_its_process_is_told_and_the_next_one_runs(prison: JailChildren, death: str) -> None:
    others_go_on(prison)
    child = prison.children[-1]
    ends(prison, f"import ctypes, os\n{death}", DEATHS[death])
    others_go_on(prison)
    assert prison.children[-1] is child


def test_what_it_raises_is_an_answer(prison: JailChildren) -> None:
    for raised in ("SystemExit(1)", "KeyboardInterrupt()", "BaseException('odd')", "RecursionError()"):
        reply = prison.reply(f"raise {raised}")
        assert (reply.status, reply.headers["x-inngest-sdk"][:10]) == (500, "inngest-py")
        assert raised.partition("(")[0] in json.loads(reply.body)["name"]


@pytest.mark.parametrize(
    "spin",
    ["while True:\n    pass", "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')", "import time\ntime.sleep(600)"],
    ids=["loop", "holding the interpreter", "sleep"],
)
def test_a_run_that_does_not_end_is_ended(prison: JailChildren, spin: str) -> None:
    others_go_on(prison)
    with ThreadPoolExecutor(1) as threads:
        spinning = threads.submit(ends, prison, spin, "took more than 1 s", 1)
        others_go_on(prison)
        spinning.result()


def test_processor_time_is_limited_too(any_prison: JailChildren) -> None:
    body = "import resource\nreturn resource.getrlimit(resource.RLIMIT_CPU)"
    assert any_prison.output(body) == [10, 11]


BOMB = """
import os
if ctx.attempt:
    return "fine"
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_a_fork_bomb_ends_with_its_run(walled: JailChildren) -> None:
    if not walled.isolation.counts_processes:
        pytest.skip(f"the system does not count a skill's processes by themselves; here is {walled.isolation.words}")
    child = walled.boot(subject(BOMB))
    with ThreadPoolExecutor(1) as threads:
        exploding = threads.submit(walled.run, child, seconds=1)
        others_go_on(walled)
        with pytest.raises(UnavailableError, match=r"took more than 1 s|MiB of memory|more than 8 processes"):
            exploding.result()
    deadline = time.monotonic() + 10
    while True:
        try:
            assert walled.run(child, ctx={"attempt": 1}).body == b'"fine"'
            break
        except UnavailableError:
            assert time.monotonic() < deadline


DAEMON = """
import ctypes, os, time
libc = ctypes.CDLL(None)
if ctx.attempt:
    names = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            names.append(open(f"/proc/{pid}/comm").read().strip())
        except OSError:
            pass
    return names.count("daemon")
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        libc.prctl(15, b"daemon", 0, 0, 0)
        time.sleep(600)
time.sleep(0.2)
return "left"
"""


def test_daemons_do_not_outlive_their_run(any_prison: JailChildren) -> None:
    child = any_prison.boot(subject(DAEMON))
    assert any_prison.run(child).body == b'"left"'
    deadline = time.monotonic() + 5
    while (left := json.loads(any_prison.run(child, ctx={"attempt": 1}).body)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == 0


def test_memory_is_limited(any_prison: JailChildren) -> None:
    reply = any_prison.reply("return len(bytearray(2 * 1024 ** 3))")
    assert (reply.status, json.loads(reply.body)["name"]) == (500, "MemoryError")


def test_disk_is_limited_and_left_clean(sealed: JailChildren) -> None:
    body = """
total = 0
try:
    for number in range(100):
        with open(str(number), "wb") as file:
            for _ in range(64):
                total += file.write(bytes(64 * 1024))
except OSError:
    pass
return total
"""
    for _ in range(2):
        assert 8 * 1024**2 < sealed.output(body) <= 16 * 1024**2


HOARD = """
import os, time
held = []
try:
    for number in range(100):
        held.append(open(str(number), "wb"))
        os.unlink(str(number))
        for _ in range(16):
            held[-1].write(bytes(64 * 1024))
        held[-1].flush()
except OSError as error:
    return [len(held), error.errno]
"""


def test_files_without_a_name_count_where_the_disk_is_the_childs_own(any_prison: JailChildren) -> None:
    if not (any_prison.isolation.own_disk or any_prison.isolation.level is Level.BUBBLEWRAP):
        pytest.skip("only files with a name are counted here, and doctor says so")
    count, error = any_prison.output(HOARD)
    assert 8 <= count <= 17
    assert error == 28


def test_what_a_run_writes_is_limited_in_all(any_prison: JailChildren) -> None:
    body = """
import time
try:
    for number in range(40):
        with open(str(number), "wb") as file:
            file.write(bytes(1024 * 1024))
except OSError as error:
    return error.errno
time.sleep(15)
"""
    if any_prison.isolation.own_disk or any_prison.isolation.level is Level.BUBBLEWRAP:
        assert any_prison.output(body) == 28
    else:
        ends(any_prison, body, "it wrote more than 16 MiB")
    others_go_on(any_prison)


def test_what_a_run_hides_from_the_count_ends_it(limits_prison: JailChildren) -> None:
    ends(limits_prison, "import os, time\nos.mkdir('a')\nos.chmod('a', 0)\ntime.sleep(15)", "hid files")


def test_a_file_is_limited(any_prison: JailChildren) -> None:
    body = """
import os, tempfile
with tempfile.TemporaryFile() as file:
    try:
        os.posix_fallocate(file.fileno(), 0, 64 * 1024 ** 2)
    except OSError as error:
        return error.errno
"""
    assert any_prison.output(body) in {27, 28}


def test_nobody_else_can_be_signalled(walled: JailChildren) -> None:
    """By the signal that only asks for leave: should a wall be missing, nobody is hurt."""
    body = f"""
import os
reached = []
for pid in [{os.getpid()}, *(int(name) for name in os.listdir("/proc") if name.isdigit())]:
    if pid in (os.getpid(), os.getppid()):
        continue
    try:
        os.kill(pid, 0)
        reached.append(pid)
    except OSError:
        pass
return reached
"""
    # In a namespace of its own its first process may be asked, and takes no signal.
    assert set(walled.output(body)) <= ({1} if walled.isolation.level is Level.BUBBLEWRAP else set())


def test_the_first_process_of_its_namespace_takes_no_signal(sealed: JailChildren) -> None:
    sealed.output("import os\ntry:\n    os.kill(1, 9)\nexcept OSError:\n    pass\nreturn 1")
    others_go_on(sealed)


def test_a_skill_cannot_end_the_process_it_came_from(any_prison: JailChildren) -> None:
    """Nor limit or slow it down, by whatever call."""
    child = any_prison.boot(subject(OTHERS.format(pid="os.getppid()")))
    if not any_prison.isolation.fences_runs:
        with pytest.raises(ProcessLostError):
            any_prison.run(child)
        others_go_on(any_prison)
        pytest.skip("this kernel keeps no run from it, and doctor says so; other versions go on")
    assert any_prison.run(child).body == b"[]"
    assert child.alive


OTHERS = """
import ctypes, os, resource, signal
libc, pid = ctypes.CDLL(None), {pid}
done = []
def wait_for_disks_last():
    number = {{"x86_64": 251, "aarch64": 30}}[os.uname().machine]
    if libc.syscall(number, 3, 0, 3 << 13) != 0:
        raise OSError("ioprio_set, for all processes of the user, is refused")
acts = [
    lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),
    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    lambda: os.setpriority(os.PRIO_USER, 0, 19),
    wait_for_disks_last,
    lambda: os.sched_setaffinity(pid, [0]),
    lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 9),
    lambda: os.kill(pid, 9),
]
# The first process of a namespace takes it and goes on, so that this is no error.
try:
    os.killpg(os.getpgid(pid), 9)
except OSError:
    pass
for number, act in enumerate(acts):
    try:
        act()
        done.append(number)
    except OSError:
        pass
return done
"""


def beside(prison: JailChildren, body: str, reason: str) -> None:
    """A run that does this is ended for this reason; another one of the same version begins before and goes on."""
    others_go_on(prison)
    child = prison.children[-1]
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(prison.output, "import time\ntime.sleep(4)\nopen('a', 'w').write('x')\nreturn 'fine'")
        time.sleep(0.3)
        ends(prison, body, reason)
        others_go_on(prison)
        assert other.result() == "fine"
    assert prison.children[-1] is child


FORKS = """
import os, time
for _ in range({count}):
    try:
        os.fork() or time.sleep(600)
    except OSError:
        pass
"""


def test_a_run_with_too_many_processes_ends_and_the_others_of_its_version_go_on(prison: JailChildren) -> None:
    if not prison.isolation.counts_processes:
        pytest.skip(f"the system does not count a skill's processes by themselves; here is {prison.isolation.words}")
    beside(prison, FORKS.format(count=100) + "\ntime.sleep(600)", "more than 8 processes")


def test_a_run_with_too_many_files_ends_and_the_others_of_its_version_go_on(sealed: JailChildren) -> None:
    beside(sealed, "number = 0\nwhile True:\n    number += 1\n    open(str(number), 'w').close()", "too many files")


def test_a_run_that_fills_the_disk_ends_and_the_others_of_its_version_go_on(sealed: JailChildren) -> None:
    body = """
import time
try:
    for number in range(40):
        with open(str(number), "wb") as file:
            file.write(bytes(1024 * 1024))
except OSError:
    pass
time.sleep(600)
"""
    beside(sealed, body, "other runs need room")


def test_a_run_changes_no_files_and_ends_no_process_of_another(prison: JailChildren) -> None:
    if not prison.isolation.fences_runs:
        pytest.skip("this kernel keeps no run from it, and doctor says so")
    others_go_on(prison)
    with ThreadPoolExecutor(1) as threads:
        waits = "import os, time\nopen('mine', 'w').write('mine')\ntime.sleep(3)\nreturn open('mine').read()"
        other = threads.submit(prison.output, waits)
        time.sleep(1)
        body = """
import glob, os, pathlib
reached = []
for place in [*glob.glob("../run-*/mine"), "../beside", *glob.glob("../run-*/new")]:
    for act in (lambda: open(place, "w"), lambda: os.unlink(place), lambda: os.rename(place, "had")):
        try:
            act()
            reached.append(place)
        except OSError:
            pass
for folder in glob.glob("../run-*"):
    pid = int(folder.rpartition("-")[2])
    if pid != os.getpid():
        try:
            os.kill(pid, 9)
            reached.append(pid)
        except OSError:
            pass
return [len(glob.glob("../run-*")), reached]
"""
        assert prison.output(body) == [2, []]
        assert other.result() == "mine"


def test_no_process_can_be_traced(walled: JailChildren) -> None:
    body = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
traced = [pid for pid in (1, os.getppid()) if libc.ptrace(16, pid, None, None) == 0]
for pid in (1, os.getppid()):
    for name in ("mem", "environ"):
        try:
            if open(f"/proc/{pid}/{name}", "rb").read(1):
                traced.append(name)
        except OSError:
            pass
return traced
"""
    assert walled.output(body) == []


def test_memory_is_limited_over_all_processes_of_a_run(walled: JailChildren) -> None:
    body = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(os.urandom(1)) * (80 * 1024 ** 2)
        time.sleep(600)
time.sleep(600)
"""
    ends(walled, body, "more than 256 MiB of memory")
    others_go_on(walled)


def test_memory_that_no_limit_counts_cannot_be_had(any_prison: JailChildren) -> None:
    body = """
import ctypes, mmap, os, socket
libc = ctypes.CDLL(None)
had = []
def zeros():
    with open("/dev/zero", "rb") as file:
        return mmap.mmap(file.fileno(), 1 << 20, mmap.MAP_SHARED, mmap.PROT_READ)[0]
def door():
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("door")
        one.listen(4096)
def without_name():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(chr(0) + "door")
for act in (lambda: mmap.mmap(-1, 1 << 20), lambda: mmap.mmap(-1, 1 << 20, 3), zeros, door, without_name):
    try:
        act()
        had.append(act.__name__)
    except (OSError, ValueError):
        pass
own = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE)
own[0] = 1
if libc.shmget(0, 1 << 20, 0o1600) >= 0:
    had.append("shared memory")
for number in {"x86_64": (206, 253, 294), "aarch64": (0, 26)}[os.uname().machine]:
    # Of these the machine, or the user, has few.
    if libc.syscall(number, 1000, ctypes.byref(ctypes.c_ulong(0))) >= 0:
        had.append(number)
if libc.unshare(0x10000000) == 0:
    had.append("a user namespace")
try:
    had.append(os.memfd_create("held"))
except OSError:
    pass
for family in (socket.AF_INET, socket.AF_NETLINK, socket.AF_PACKET, 40):
    try:
        socket.socket(family)
        had.append(family)
    except OSError:
        pass
return had
"""
    assert any_prison.output(body) == []


def test_what_a_run_leaves_in_its_folder_is_gone_with_it(any_prison: JailChildren) -> None:
    write = "import os\nopen('left', 'w').write('x')\nos.mkdir('a')\nos.symlink('/', 'a/root')\nreturn os.getcwd()"
    first = any_prison.output(write)
    assert any_prison.output("import os\nreturn os.listdir('.')") == []
    assert any_prison.output(f"import os\nreturn os.path.exists({first!r})") is False


def test_files_without_end_are_ended(sealed: JailChildren) -> None:
    ends(sealed, "number = 0\nwhile True:\n    number += 1\n    open(str(number), 'w').close()", "too many files")
    others_go_on(sealed)


@pytest.mark.parametrize(
    "stray",
    ["threading.Thread(target=time.sleep, args=(600,), daemon=True).start()", "os.fork() or time.sleep(600)"],
)
def test_nothing_runs_beside_the_functions(prison: JailChildren, stray: str) -> None:
    with pytest.raises(RefusedSkillError, match="started a thread or a process"):
        prison.boot(subject("return 1") + f"\nimport os, threading, time\n{stray}\n")
