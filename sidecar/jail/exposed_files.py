"""Files that a child needs in order to run, and no others."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

# Of our own packages: what a child imports. None of it knows the database or a key.
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
# The command line of httpx, which it loads where it can: a tenth of the memory of a child, and of its start.
_UNWANTED = ("httpx/_main.py",)
_SYSTEM = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib", "/usr/share/zoneinfo")
_SYSTEM_LINKS = ("/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs")


def packages_root() -> Path:
    """The folder our packages are in."""
    return Path(__file__).resolve().parents[2]


def interpreter_path() -> str:
    """The interpreter itself, not its name in a virtual environment."""
    return os.path.realpath(sys.executable)


def usable_interpreters() -> list[str]:
    """Ours and the system's of the same version: ours may be in a home that no other user may enter."""
    ours, theirs = sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    return [ours, theirs] if os.path.exists(theirs) and theirs != os.path.realpath(ours) else [ours]


def library_folders() -> list[str]:
    """The folders that hold the packages a child imports."""
    found = []
    for name in _PACKAGES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            found.append(str(Path(spec.origin).parent.parent))
    return list(dict.fromkeys(found))


def unwanted_files() -> list[str]:
    """Files in the libraries that a child does better without; their packages do, too, when they are empty."""
    found = [f"{library}/{name}" for library in library_folders() for name in _UNWANTED]
    return [path for path in found if os.path.exists(path)]


def system_paths() -> list[str]:
    """Folders and files of the system and the interpreter, as they are named here."""
    wanted = [*_SYSTEM, *_SETTINGS, interpreter_path()]
    base = sys.base_prefix
    if base not in {"/", "/usr"}:
        wanted.append(base)
    return [path for path in wanted if os.path.exists(path)]


def system_links() -> dict[str, str]:
    """Names at the root that point into the system's folders, with where they point; a real folder points to itself."""
    return {path: os.readlink(path) if os.path.islink(path) else path for path in _SYSTEM_LINKS if os.path.isdir(path)}


def readable_paths() -> list[str]:
    """All that a child may read where it has no view of its own."""
    ours = [str(packages_root() / name) for name in OURS]
    return [*system_paths(), *library_folders(), *ours, "/proc", "/dev/random", "/dev/urandom"]
