"""A checking program at work on a text of unknown intent: started apart, in an empty folder, within limits."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MEMORY = 4 << 30
_SECONDS = 10
"""Of processor time."""
# A busy machine is no fault of the file.
_PATIENCE = 60
_MOST_SAID = 4 << 20


class ToolError(Exception):
    """It did not answer: it took too long, ended by itself, or spoke no JSON."""


def find_tool(name: str) -> str | None:
    """Where the program is: beside this Python, else on the path."""
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if beside.is_file() else shutil.which(name)


class Tool:
    """One started program. Start several, do something else, then ask each for its answer."""

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        # Nothing of ours is in its environment, and no file outside the folder tells it what to do.
        env = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PATH": os.defpath}
        # One file is too little work for more threads to share.
        env |= {"TY_MAX_PARALLELISM": "2", "RAYON_NUM_THREADS": "2"}
        self._said = folder / f"{Path(argv[0]).name}.json"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL
            )
        if hasattr(resource, "prlimit"):
            # It may have ended already.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(self._process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
                resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
                resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (_MOST_SAID, _MOST_SAID))

    def answer(self) -> list[dict[str, Any]]:
        """Its findings; raises ToolError."""
        try:
            self._process.wait(_PATIENCE)
            found = json.loads(self._said.read_bytes() or "[]")
        except subprocess.TimeoutExpired:
            raise ToolError(f"took more than {_PATIENCE} s") from None
        except ValueError:
            raise ToolError("could not make sense of the file") from None
        finally:
            self.stop()
        if self._process.returncode not in (0, 1) or not isinstance(found, list):
            raise ToolError(f"ended with {self._process.returncode}")
        return found

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
