"""The jail: start a child as isolated as this machine allows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from sidecar.child.confinement import Confinement
from sidecar.child.limits import Limits
from sidecar.child.process_tree import walk_process_tree
from sidecar.jail import bubblewrap, exposed_files
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.users import ChildUsers, end_user_processes, is_child_user

SOCKET = "broker.sock"
_STOP_SECONDS = 0.5


@dataclass(frozen=True)
class Inmate:
    """A started child with its folder. The broker's socket is made at `address`; the child sees it at `broker`."""

    process: subprocess.Popen[bytes]
    folder: Path
    user: int | None
    address: Path
    broker: str


class Jail:
    """Starts and ends children. `folder` is emptied first, since only one sidecar uses it at a time.

    A child ends with the thread that starts it.
    """

    def __init__(self, folder: Path, isolation: Isolation, limits: Limits | None = None) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        if isolation.level is Level.USER:
            folder = _open_to_others(folder)
        _end_left_overs(folder)
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        """The folder that contains a folder for each inmate."""
        # A socket's address is limited to some hundred bytes; through the open folder it is short wherever the home is.
        self._folder_fds = [self._make_folder()]
        self._users = ChildUsers()
        self._lock = threading.Lock()
        self._count = 0

    def start(self, calls: int, module: str = "sidecar.child") -> Inmate:
        """Start the child with the descriptor `calls`; its standard input, output and errors are pipes."""
        with self._lock:
            self._count += 1
            folder = self.folder / str(self._count)
            folder_fd = self._open_folder()
        folder.mkdir()
        # Bubblewrap shows the child only this folder. Other users cannot enter the folder above it.
        folder.chmod(0o755)
        user = self._users.take() if self.isolation.own_user else None
        inside = self.isolation.level is Level.BUBBLEWRAP
        scratch = Path(bubblewrap.scratch_folder()) if inside else folder / "tmp"
        confinement = self._confinement(user, scratch)
        argv = [*self._command(folder, user), "-m", module, str(calls), confinement.model_dump_json()]
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[calls],
            cwd=None if inside else scratch,
            env={} if inside else bubblewrap.child_environment(str(exposed_files.packages_root()), str(scratch)),
        )
        broker = f"{bubblewrap.RUN}/{SOCKET}" if inside else str(folder / SOCKET)
        address = Path(f"/proc/self/fd/{folder_fd}/{folder.name}/{SOCKET}")
        return Inmate(process, folder, user, address, broker)

    def kill(self, inmate: Inmate) -> None:
        """Kill the child and, as well as possible, all that it started; `end` still has to be called."""
        below: list[int] = []
        # After a wait, its process id may belong to another process.
        if inmate.process.poll() is None:
            # A stopped process starts no others. Also, bubblewrap's second process hangs if the first one is killed at
            # the very start.
            inmate.process.send_signal(signal.SIGSTOP)
            _await_stop(inmate.process.pid)
            below = [pid for pid, _ in walk_process_tree(inmate.process.pid)]
        inmate.process.kill()
        if inmate.user is not None and self.isolation.level is Level.USER:
            end_user_processes(inmate.user)
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def end(self, inmate: Inmate) -> None:
        """Kill the child and all that it started, and remove its folder."""
        self.kill(inmate)
        inmate.process.wait()
        for pipe in (inmate.process.stdin, inmate.process.stdout, inmate.process.stderr):
            if pipe is not None:
                pipe.close()
        if inmate.user is not None:
            self._users.give_back(inmate.user)
        shutil.rmtree(inmate.folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder; called after every inmate was ended."""
        for opened in self._folder_fds:
            os.close(opened)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_folder(self) -> int:
        """Make the folder and open it; raises OSError, also when it exists already."""
        self.folder.mkdir(mode=0o700, parents=True)
        self.folder.chmod(0o711 if self.isolation.level is Level.USER else 0o700)
        return os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def _open_folder(self) -> int:
        """Return the open folder, made again if a clean-up program removed it. Inmates keep the folder they have."""
        try:
            is_there = os.path.samestat(os.fstat(self._folder_fds[-1]), self.folder.lstat())
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self._folder_fds.append(self._make_folder())
        return self._folder_fds[-1]

    def _command(self, folder: Path, user: int | None) -> list[str]:
        if self.isolation.level is not Level.BUBBLEWRAP:
            scratch = folder / "tmp"
            scratch.mkdir(mode=0o700)
            if user is not None:
                os.chown(scratch, user, user)
                os.chown(folder, user, user)
                folder.chmod(0o500)
            return [self.isolation.interpreter, "-P", "-s"]
        program = bubblewrap.find_bubblewrap() or "bwrap"
        return bubblewrap.build_command(program, folder, self.limits.disk, own_user=user is not None)

    def _confinement(self, user: int | None, scratch: Path) -> Confinement:
        isolation = self.isolation
        return Confinement(
            limits=self.limits,
            user=user,
            own_network=isolation.own_network and isolation.level is not Level.BUBBLEWRAP,
            count_processes=isolation.counts_processes,
            refuse_calls=isolation.refuses_calls,
            fence_runs=isolation.fences_runs,
            readable=exposed_files.readable_paths() if isolation.fence else [],
            writable=[str(scratch), "/dev/null"],
            scratch=str(scratch),
            own_scratch=isolation.level is Level.BUBBLEWRAP or isolation.own_disk,
            mount_scratch=isolation.own_disk and isolation.level is not Level.BUBBLEWRAP,
        )


def _await_stop(pid: int) -> None:
    """Wait until a child has stopped or ended, so that a process it was just starting is visible.

    Bounded, since a process that waits for its own child in the kernel stops only after that child.
    """
    deadline = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            stopped = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return
        if stopped:
            return
        time.sleep(0.0005)


def _open_to_others(folder: Path) -> Path:
    """Return a folder in the system's temporary folder, since other users may not be able to enter our home.

    The name is the same each time, so that what a killed sidecar left is found, unless the folder is another user's.
    """
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"loopwright-{name}"
    try:
        theirs = place.lstat().st_uid != os.geteuid() or place.is_symlink()
    except FileNotFoundError:
        return place
    return Path(tempfile.mkdtemp(prefix="loopwright-")) if theirs else place


def _end_left_overs(folder: Path) -> None:
    """End children that a killed sidecar may have left: each owned a folder here."""
    if folder.is_dir():
        for user in {entry.stat(follow_symlinks=False).st_uid for entry in os.scandir(folder)}:
            if is_child_user(user):
                end_user_processes(user)
