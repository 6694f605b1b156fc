"""The jail: start a child apart from everything else, as well as this machine allows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from sidecar.child.confinement import Confinement
from sidecar.child.limits import Limits
from sidecar.child.process_tree import walk_process_tree
from sidecar.jail import bubblewrap, exposed_files
from sidecar.jail.isolation import Isolation, Level
from sidecar.jail.users import ChildUsers, end_user_processes, is_child_user

SOCKET = "broker.sock"


@dataclass(frozen=True)
class Inmate:
    """A started child with a folder of its own. The broker's socket goes to `address`; it sees it at `broker`."""

    process: subprocess.Popen[bytes]
    folder: Path
    user: int | None
    address: Path
    broker: str


class Jail:
    """`folder` is emptied first, since one sidecar has it at a time. A child ends with the thread that starts it."""

    def __init__(self, folder: Path, isolation: Isolation, limits: Limits | None = None) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        if isolation.level is Level.USER:
            folder = _open_to_others(folder)
        _end_left_overs(folder)
        shutil.rmtree(folder, ignore_errors=True)
        self.folder = folder
        """In which each inmate has a folder of its own."""
        # A socket's address has some hundred bytes; through the open folder it is short wherever the home is.
        self._folder_fds = [self._made()]
        self._users = ChildUsers()
        self._lock = threading.Lock()
        self._count = 0

    def start(self, calls: int, module: str = "sidecar.child") -> Inmate:
        """Start the child with the descriptor `calls`; its standard input, output and errors are pipes."""
        with self._lock:
            self._count += 1
            folder = self.folder / str(self._count)
            folder_fd = self._found()
        folder.mkdir()
        # Bound into its view it is all the child sees of it; the folder above is shut to everybody else.
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
        """End it and, as well as that can be done here, all that it started; `end` is still to be called."""
        below: list[int] = []
        # The number of one that was waited for may be somebody else's by now.
        if inmate.process.poll() is None:
            # Bubblewrap's second process waits for the first one for ever when that ends at the very beginning; who is
            # stopped starts no more.
            inmate.process.send_signal(signal.SIGSTOP)
            below = [pid for pid, _ in walk_process_tree(inmate.process.pid)]
        inmate.process.kill()
        if inmate.user is not None and self.isolation.level is Level.USER:
            end_user_processes(inmate.user)
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def end(self, inmate: Inmate) -> None:
        """Kill it and all that it started, and remove its folder."""
        self.kill(inmate)
        inmate.process.wait()
        for pipe in (inmate.process.stdin, inmate.process.stdout, inmate.process.stderr):
            if pipe is not None:
                pipe.close()
        if inmate.user is not None:
            self._users.give_back(inmate.user)
        shutil.rmtree(inmate.folder, ignore_errors=True)

    def close(self) -> None:
        """When every inmate was ended."""
        for opened in self._folder_fds:
            os.close(opened)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _made(self) -> int:
        """The folder, new and open. Raises OSError, also where somebody else has made it."""
        self.folder.mkdir(mode=0o700, parents=True)
        self.folder.chmod(0o711 if self.isolation.level is Level.USER else 0o700)
        return os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)

    def _found(self) -> int:
        """The open folder, made anew where somebody who tidies up took it; who has a folder in it keeps that."""
        try:
            is_there = os.path.samestat(os.fstat(self._folder_fds[-1]), self.folder.lstat())
        except FileNotFoundError:
            is_there = False
        if not is_there:
            self._folder_fds.append(self._made())
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


def _open_to_others(folder: Path) -> Path:
    """In place of `folder`: a home that only we may enter would shut a child out of what is its own.

    The same one each time, so that what a killed sidecar left is found, unless somebody else has it.
    """
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"loopwright-{name}"
    try:
        theirs = place.lstat().st_uid != os.geteuid() or place.is_symlink()
    except FileNotFoundError:
        return place
    return Path(tempfile.mkdtemp(prefix="loopwright-")) if theirs else place


def _end_left_overs(folder: Path) -> None:
    """End what a killed sidecar's children may have left: each had a folder, which was its user's."""
    if folder.is_dir():
        for user in {entry.stat(follow_symlinks=False).st_uid for entry in os.scandir(folder)}:
            if is_child_user(user):
                end_user_processes(user)
