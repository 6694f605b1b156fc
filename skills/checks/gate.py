"""Check a skill file and return all its problems at once, without running any of it."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from skills.checks.functions import check_functions, check_stems
from skills.checks.imports import check_forbidden, check_hidden_names, check_imports
from skills.checks.load_rules import check_load_rules
from skills.checks.permissions import check_permissions
from skills.checks.programs import (
    CheckProgram,
    check_turned_off,
    find_program,
    lint_problems,
    start_lint,
    start_type_check,
    type_problems,
)
from skills.checks.source import SourceCheck, read_source
from skills.checks.steps import check_steps
from skills.checks.syntax import parse_source
from skills.checks.triggers import check_triggers
from skills.format.manifest import SkillManifest, parse_manifest
from skills.format.problem import RefusedSkillError, SkillProblem

MOST_PROBLEMS = 50
"""Problems that are reported, in all and per check."""
_LONGEST = 500

CHECKS: tuple[SourceCheck, ...] = (
    check_stems,
    check_imports,
    check_hidden_names,
    check_forbidden,
    check_load_rules,
    check_functions,
    check_triggers,
    check_steps,
    check_permissions,
    check_turned_off,
)


def check_source(source: bytes, stem: str, others: Mapping[str, Path]) -> list[SkillProblem]:
    """Return the problems of a file in the order of its lines; empty for a good one.

    `others` maps stems to the files of the other skills; it holds this skill's own stem only if another file has the
    same name. Lint and types are skipped if their programs are not installed (see `missing_programs`).
    """
    try:
        text, tree = parse_source(source)
    except RefusedSkillError as refused:
        return _ordered(list(refused.problems))
    with tempfile.TemporaryDirectory(prefix="loopwright-check-") as folder:
        file = Path(folder) / "skill_file.py"
        file.write_bytes(source)
        # Both run while the syntax tree is checked.
        lint, types = start_lint(file), start_type_check(file)
        try:
            own = tree_problems(text, tree, stem, others)
            tools = [*_findings(lint, lint_problems), *_findings(types, type_problems)]
        finally:
            for tool in (lint, types):
                if tool is not None:
                    tool.stop()
    # On a line with a problem of our own checks, lint and types add nothing.
    told = {problem.line for problem in own}
    return _ordered([*own, *(one for one in tools if one.line not in told or one.line is None)])


def missing_programs() -> list[str]:
    """Return the names of the checking programs that are not installed."""
    return [name for name in ("ruff", "ty") if find_program(name) is None]


def tree_problems(text: str, tree: ast.Module, stem: str, others: Mapping[str, Path]) -> list[SkillProblem]:
    """Return the problems that the syntax tree alone shows: all but lint and types."""
    problems: list[SkillProblem] = []
    manifest: SkillManifest | None = None
    try:
        manifest = parse_manifest(tree)
    except RefusedSkillError as refused:
        problems += refused.problems
    try:
        source = read_source(text, tree, stem, manifest, others)
        for check in CHECKS:
            problems += islice(check(source), MOST_PROBLEMS)
    except RefusedSkillError as refused:
        problems += refused.problems
    except RecursionError:
        problems.append(SkillProblem(None, "the file is nested too deeply", "write it flatter"))
    return problems


def _findings(
    tool: CheckProgram | None, problems: Callable[[CheckProgram], Iterator[SkillProblem]]
) -> Iterator[SkillProblem]:
    """Yield the findings of a program; none if it is not installed."""
    if tool is not None:
        yield from problems(tool)


def _ordered(problems: list[SkillProblem]) -> list[SkillProblem]:
    """Return each problem once, ordered by line; those without a line come last."""
    unique = dict.fromkeys(replace(one, reason=_readable(one.reason), fix=_readable(one.fix)) for one in problems)
    return sorted(unique, key=lambda one: (one.line is None, one.line or 0))[:MOST_PROBLEMS]


def _readable(text: str) -> str:
    """Put text that may quote the author into one printable line of limited length, for people and the model."""
    kept = "".join(char if char.isprintable() else " " for char in text[: 2 * _LONGEST])
    return kept if len(kept) <= _LONGEST else kept[: _LONGEST - 1] + "…"
