"""The command that starts a child inside bubblewrap."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sidecar.jail import exposed_files

RUN = "/run"
"""Where the child sees its own folder, with the broker's socket."""
_APP = "/app"
_SCRATCH, _OTHER_SCRATCH = "/tmp", "/scratch"


def find_bubblewrap() -> str | None:
    """Return the path of the program, if it is installed."""
    return shutil.which("bwrap")


def scratch_folder() -> str:
    """Return where the child may write: /tmp, unless files that the child needs are below it and would be hidden."""
    hidden = any(Path(path).is_relative_to(_SCRATCH) for path in _bound_paths())
    return _OTHER_SCRATCH if hidden else _SCRATCH


def build_command(program: str, folder: Path, disk: int, *, own_user: bool) -> list[str]:
    """Return the command up to the child's own arguments `-m …`.

    With `own_user` we are root, and the child keeps the right to change its user id until it has done so. Without it,
    the child lives in a user namespace.
    """
    argv = [program, "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    argv += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "skill", "--cap-drop", "ALL"]
    argv += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] if own_user else ["--unshare-user"]
    scratch = scratch_folder()
    argv += _file_arguments(folder, disk, scratch)
    argv += ["--clearenv"]
    for name, value in child_environment(_APP, scratch).items():
        argv += ["--setenv", name, value]
    return [*argv, "--chdir", scratch, "--", exposed_files.interpreter_path(), "-P", "-s"]


def child_environment(ours: str, home: str) -> dict[str, str]:
    """Return the whole environment of a child."""
    environment = {
        "HOME": home,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        # The SDK creates HTTP clients that read all certificates of a file when they start, and never uses them.
        "SSL_CERT_DIR": "/etc/ssl/certs",
        "PYTHONPATH": os.pathsep.join([ours, *exposed_files.library_folders()]),
        "TMPDIR": home,
    }
    return environment | ({"TZ": os.environ["TZ"]} if "TZ" in os.environ else {})


def _bound_paths() -> list[str]:
    """Return the paths that the child sees, by their names inside."""
    return [
        *exposed_files.system_paths(),
        *exposed_files.library_folders(),
        *(f"{_APP}/{name}" for name in exposed_files.OURS),
    ]


def _file_arguments(folder: Path, disk: int, scratch: str) -> list[str]:
    # Bubblewrap would give parent folders the mode they have outside, for example of a home that only root may enter.
    above = {str(parent) for path in _bound_paths() for parent in Path(path).parents}
    argv = [part for name in sorted(above - {"/"}) for part in ("--perms", "0755", "--dir", name)]
    for path in exposed_files.system_paths():
        argv += ["--ro-bind", path, path]
    for path, target in exposed_files.system_links().items():
        argv += ["--ro-bind", path, path] if target == path else ["--symlink", target, path]
    ours = exposed_files.packages_root()
    for library in exposed_files.library_folders():
        argv += ["--ro-bind", library, library]
        if Path(library) == ours:
            # We are installed among the libraries, so our packages are hidden except for what is exposed below.
            argv += [part for name in _our_packages(ours) for part in ("--tmpfs", f"{library}/{name}")]
    for path in exposed_files.unwanted_files():
        argv += ["--ro-bind", os.devnull, path]
    for name in exposed_files.OURS:
        argv += ["--ro-bind", str(ours / name), f"{_APP}/{name}"]
    # Shared mappings of /dev/zero hold memory that counts for no process.
    argv += ["--proc", "/proc", "--dev", "/dev", "--ro-bind", os.devnull, "/dev/zero", "--remount-ro", "/dev"]
    argv += ["--perms", "1777", "--size", str(disk), "--tmpfs", scratch]
    return [*argv, "--ro-bind", str(folder), RUN, "--remount-ro", "/"]


def _our_packages(ours: Path) -> list[str]:
    names = ("app", "core", "engine", "functions", "generation", "loopwright", "memory", "router", "runtime", "sidecar")
    return [name for name in (*names, "skills", "standins", "workspace") if (ours / name).is_dir()]
