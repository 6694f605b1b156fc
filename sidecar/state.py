"""What the sidecar tells the other processes: a file in the home, replaced as a whole."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from core.errors import LoopwrightError
from sidecar.serving import Shown

_log = logging.getLogger(__name__)


def as_json(shown: Shown) -> dict[str, Any]:
    """`version`, `hash`, manifest and functions speak of the version that serves; `problems` of the last save."""
    serving = shown.serving
    functions = [
        {
            "id": str(function["id"]).removeprefix(f"skill-{shown.stem}-"),
            "app": f"skill-{shown.stem}",
            "name": function.get("name"),
            "triggers": function.get("triggers", []),
        }
        for function in (serving.functions if serving else ())
    ]
    return {
        "id": shown.stem,
        "version": serving.number if serving else None,
        "hash": serving.version.sha if serving else None,
        "source": shown.source,
        "status": shown.status,
        "title": serving.manifest.title if serving else None,
        "purpose": serving.manifest.purpose if serving else None,
        "permissions": serving.manifest.permissions.model_dump() if serving else None,
        "problems": [{"line": one.line, "reason": one.reason, "fix": one.fix} for one in shown.problems],
        "functions": functions,
        "triggers": [trigger for function in functions for trigger in function["triggers"]],
    }


def read_state(home: Path) -> list[dict[str, Any]]:
    """Every skill as the sidecar of this home last told it, in the shape of `as_json`; empty before it ever ran."""
    try:
        state = json.loads(state_path(home).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    skills: list[dict[str, Any]] = state["skills"]
    return skills


def state_path(home: Path) -> Path:
    return home / "sidecar" / "state.json"


class StateFile:
    """`{at, skills: […]}`; written by one process, read by any."""

    def __init__(self, path: Path, skills: Callable[[], Iterable[Shown]], now: Callable[[], datetime]) -> None:
        self._path = path
        self._skills = skills
        self._now = now
        self._stale = threading.Event()
        self._stopped = False
        path.parent.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        self._stale.set()
        threading.Thread(target=self._run, name="state-file", daemon=True).start()

    def stale(self) -> None:
        """Have it written soon. It takes no lock: whoever changes a skill holds that skill's."""
        self._stale.set()

    def stop(self) -> None:
        self._stopped = True
        self._stale.set()

    def _run(self) -> None:
        while not self._stopped:
            self._stale.wait()
            self._stale.clear()
            try:
                self._write()
            except (OSError, LoopwrightError) as error:
                _log.warning("the state of the skills is not written: %s", error)

    def _write(self) -> None:
        state = {"at": self._now().isoformat(), "skills": [as_json(shown) for shown in self._skills()]}
        unfinished = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(state, ensure_ascii=False, indent=1), encoding="utf-8")
        os.replace(unfinished, self._path)
