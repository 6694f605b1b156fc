"""Lint: names that do not exist, and what else Python would only find at run time. By ruff."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skills.checks.tool import Tool, ToolError, find_tool
from skills.problem import Problem

# What is merely untidy stops nobody: an unused import or variable, an f-string without a field.
_UNTIDY = "F401,F541,F841"
_FIXES = {
    "F811": "give the two different names: only the last one of a name is there",
    "F821": "define or import it",
}


def start_lint(file: Path) -> Tool | None:
    """None where ruff is not installed."""
    if (program := find_tool("ruff")) is None:
        return None
    # A comment cannot make a name that does not exist be there.
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
    return Tool([program, "check", *options, "--output-format", "json", "--", file.name], file.parent)


def lint_problems(tool: Tool) -> Iterator[Problem]:
    try:
        found = tool.answer()
    except ToolError as error:
        yield Problem(None, f"lint: the check {error}", "make the file simpler")
        return
    yield from (_problem(one) for one in found)


def _problem(found: dict[str, Any]) -> Problem:
    code = str(found.get("code"))
    line = (found.get("location") or {}).get("row")
    return Problem(line, f"{found.get('message')} ({code})", _FIXES.get(code, "correct it on this line"))
