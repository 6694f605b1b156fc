"""Run ruff and ty on an untrusted skill file: each in its own process, in an empty folder, within limits.

A comment that turns type checks off for the whole file is refused. The version of ty is pinned exactly, because it has
no stable release yet.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from skills.checks.source import SkillSource
from skills.format.problem import SkillProblem

_MEMORY = 4 << 30
_SECONDS = 10
"""Seconds of processor time."""
# Wall-clock seconds: long, because a busy machine must not fail a file.
_PATIENCE = 60
_MOST_SAID = 4 << 20


class CheckProgramError(Exception):
    """A program took too long, crashed, or wrote no JSON."""


def find_program(name: str) -> str | None:
    """Return the path of a program: beside this Python, else on PATH; None if it is not installed."""
    beside = Path(sysconfig.get_path("scripts")) / name
    return str(beside) if beside.is_file() else shutil.which(name)


class CheckProgram:
    """One started program, so that several can run at the same time."""

    def __init__(self, argv: Sequence[str], folder: Path) -> None:
        # An empty environment, and no configuration from outside the folder.
        env = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PATH": os.defpath}
        # One file is too little work for more threads.
        env |= {"TY_MAX_PARALLELISM": "2", "RAYON_NUM_THREADS": "2"}
        self._said = folder / f"{Path(argv[0]).name}.json"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL
            )
        if hasattr(resource, "prlimit"):
            # The process may have ended already.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                resource.prlimit(self._process.pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
                resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
                resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (_MOST_SAID, _MOST_SAID))

    def answer(self) -> list[dict[str, Any]]:
        """Wait for the findings and return them; raises CheckProgramError."""
        try:
            self._process.wait(_PATIENCE)
            found = json.loads(self._said.read_bytes() or "[]")
        except subprocess.TimeoutExpired:
            raise CheckProgramError(f"took more than {_PATIENCE} s") from None
        except ValueError:
            raise CheckProgramError("could not read the file") from None
        finally:
            self.stop()
        if self._process.returncode not in (0, 1) or not isinstance(found, list):
            raise CheckProgramError(f"ended with {self._process.returncode}")
        return found

    def stop(self) -> None:
        """Kill the program if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


# Untidy but harmless: unused imports and variables, f-strings without a field.
_UNTIDY = "F401,F541,F841"
_LINT_FIXES = {
    "F811": "give the two different names: only the last one of a name is there",
    "F821": "define or import it",
}


def start_lint(file: Path) -> CheckProgram | None:
    """Start ruff on a file; None if it is not installed."""
    if (program := find_program("ruff")) is None:
        return None
    # A noqa comment must not hide an unknown name.
    options = [
        "--isolated",
        "--no-cache",
        "--ignore-noqa",
        "--select",
        "F",
        "--ignore",
        _UNTIDY,
        "--target-version",
        "py311",
    ]
    return CheckProgram([program, "check", *options, "--output-format", "json", "--", file.name], file.parent)


def lint_problems(tool: CheckProgram) -> Iterator[SkillProblem]:
    """Yield the findings of ruff as problems."""
    try:
        found = tool.answer()
    except CheckProgramError as error:
        yield SkillProblem(None, f"lint: the check {error}", "make the file simpler")
        return
    yield from (_lint_problem(one) for one in found)


def _lint_problem(found: dict[str, Any]) -> SkillProblem:
    code = str(found.get("code"))
    line = (found.get("location") or {}).get("row")
    return SkillProblem(line, f"{found.get('message')} ({code})", _LINT_FIXES.get(code, "correct it on this line"))


_STUBS = Path(__file__).parent / "stubs"
# Reported by other checks.
_TOLD_ELSEWHERE = frozenset(("invalid-syntax", "unresolved-import", "unresolved-reference"))
_SEVERE = frozenset(("major", "critical", "blocker"))


def start_type_check(file: Path) -> CheckProgram | None:
    """Start ty on a file; None if it is not installed."""
    if (program := find_program("ty")) is None:
        return None
    options = ["--project", ".", "--python", sys.prefix, "--python-version", "3.11", "--output-format", "gitlab"]
    options += ["--extra-search-path", str(_STUBS), "--no-progress"]
    return CheckProgram([program, "check", *options, file.name], file.parent)


def type_problems(tool: CheckProgram) -> Iterator[SkillProblem]:
    """Yield the findings of ty as problems."""
    try:
        found = tool.answer()
    except CheckProgramError as error:
        yield SkillProblem(None, f"types: the check {error}", "make the file simpler")
        return
    for one in found:
        if one.get("severity") in _SEVERE and one.get("check_name") not in _TOLD_ELSEWHERE:
            yield _type_problem(one)


def _type_problem(found: dict[str, Any]) -> SkillProblem:
    rule = str(found.get("check_name"))
    said = str(found.get("description")).removeprefix(f"{rule}: ")
    begin = found.get("location", {}).get("positions", {}).get("begin", {})
    return SkillProblem(
        begin.get("line"), f"types: {said} ({rule})", "make the types agree, or convert the value first"
    )


_WHOLE_FILE = re.compile(r"#\s*(type|ty)\s*:\s*ignore\b", re.IGNORECASE)


def check_turned_off(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield comments above all code that turn off type checks; a comment behind code only affects its line."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(source.lines)).readline):
            if token.type == tokenize.COMMENT and _WHOLE_FILE.match(token.string):
                reason = "this comment turns type checks off for the whole file"
                yield SkillProblem(token.start[0], reason, "put it at the end of the line that needs it")
            elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
                return
    except (tokenize.TokenError, SyntaxError):
        # Syntax errors are reported elsewhere.
        return
