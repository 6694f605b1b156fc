"""Types, against the SDK's and the kit's own. By ty, which is before its first release: hence the exact version."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skills.checks.tool import Tool, ToolError, find_tool
from skills.problem import Problem

_STUBS = Path(__file__).parent / "stubs"
# Other checks speak of these, in words of their own.
_TOLD_ELSEWHERE = frozenset(("invalid-syntax", "unresolved-import", "unresolved-reference"))
_SEVERE = frozenset(("major", "critical", "blocker"))


def start_type_check(file: Path) -> Tool | None:
    """None where ty is not installed."""
    if (program := find_tool("ty")) is None:
        return None
    options = ["--project", ".", "--python", sys.prefix, "--python-version", "3.11", "--output-format", "gitlab"]
    options += ["--extra-search-path", str(_STUBS), "--no-progress"]
    return Tool([program, "check", *options, file.name], file.parent)


def type_problems(tool: Tool) -> Iterator[Problem]:
    try:
        found = tool.answer()
    except ToolError as error:
        yield Problem(None, f"types: the check {error}", "make the file simpler")
        return
    for one in found:
        if one.get("severity") in _SEVERE and one.get("check_name") not in _TOLD_ELSEWHERE:
            yield _problem(one)


def _problem(found: dict[str, Any]) -> Problem:
    rule = str(found.get("check_name"))
    said = str(found.get("description")).removeprefix(f"{rule}: ")
    begin = found.get("location", {}).get("positions", {}).get("begin", {})
    return Problem(begin.get("line"), f"types: {said} ({rule})", "make the types agree, or convert the value first")
