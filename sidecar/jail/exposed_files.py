"""Files that a child needs in order to run, and no others."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

# What a child imports of our own packages. None of it uses the database or a key.
OURS = (
    "core/__init__.py",
    "core/process/__init__.py",
    "core/process/parent_death.py",
    "sidecar/__init__.py",
    "sidecar/child",
    "skills/__init__.py",
    "skills/kit",
    "skills/format/__init__.py",
    "skills/format/problem.py",
)
_PACKAGES = ("flask", "httpx", "inngest", "pydantic", "werkzeug")
# The command line of httpx, which it imports if it can; that takes a tenth of a child's memory and start time.
_UNWANTED = ("httpx/_main.py",)
_SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/share/zoneinfo")
_SYSTEM_LINKS = ("/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs")


def packages_root() -> Path:
    """Return the folder that holds our packages."""
    return Path(__file__).resolve().parents[2]


def interpreter_path() -> str:
    """Return the real path of the interpreter, not its link in a virtual environment."""
    return os.path.realpath(sys.executable)


def usable_interpreters() -> list[str]:
    """Return our interpreter and the system's of the same version.

    Ours may be in a home that no other user may enter.
    """
    ours, theirs = sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    return [ours, theirs] if os.path.exists(theirs) and theirs != os.path.realpath(ours) else [ours]


def library_folders() -> list[str]:
    """Return the folders that hold the packages a child imports."""
    found = []
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).parent.parent))
    return list(dict.fromkeys(found))


def unwanted_files() -> list[str]:
    """Return files of the libraries that are replaced by empty ones; their packages work without them."""
    found = [f"{library}/{name}" for library in library_folders() for name in _UNWANTED]
    return [path for path in found if os.path.exists(path)]


def system_paths() -> list[str]:
    """Return folders and files of the system and the interpreter, by their names outside."""
    wanted = [*_SYSTEM, *_SETTINGS, interpreter_path()]
    base = sys.base_prefix
    if base not in {"/", "/usr"}:
        wanted.append(base)
    return [path for path in wanted if os.path.exists(path)]


def system_links() -> dict[str, str]:
    """Return names at the root that link into the system's folders, with their targets.

    A real folder is its own target.
    """
    return {path: os.readlink(path) if os.path.islink(path) else path for path in _SYSTEM_LINKS if os.path.isdir(path)}


def readable_paths() -> list[str]:
    """Return all that a child may read where its view of files is not its own."""
    ours = [str(packages_root() / name) for name in OURS]
    return [*system_paths(), *library_folders(), *ours, "/proc", "/dev/random", "/dev/urandom"]
