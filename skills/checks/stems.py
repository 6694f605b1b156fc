"""Names that two skill files may not share: their stems, and the ids that follow from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from skills.checks.declared import declared_in
from skills.checks.names import read_names
from skills.checks.parsing import parse
from skills.checks.source import Source
from skills.manifest import MAX_SOURCE
from skills.problem import Problem, RefusedSkillError

_STEM = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def check_stems(source: Source) -> Iterator[Problem]:
    if not _STEM.fullmatch(source.stem):
        reason = f"{source.stem!r} is no name of a skill file"
        yield Problem(None, reason, "use letters, digits, _ and -, a letter first")
    if (other := source.others.get(source.stem)) is not None:
        reason = f"there are two files {source.stem}.py, and {other} has the name already"
        yield Problem(None, reason, "give one of them another name")
    for stem, path in source.others.items():
        if stem.startswith(f"{source.stem}-") or source.stem.startswith(f"{stem}-"):
            yield from _same_ids(source, stem, path)


def _same_ids(source: Source, stem: str, path: Path) -> Iterator[Problem]:
    """An engine writes the two names with a hyphen between them: `a` with `b-c` and `a-b` with `c` become one."""
    theirs = {f"{stem}-{fn_id}" for fn_id in _fn_ids(path)}
    for declared in source.declared:
        if declared.fn_id is not None and f"{source.stem}-{declared.fn_id}" in theirs:
            reason = f"the engine could not tell {declared.fn_id!r} of {source.stem} from a function of {path}"
            yield Problem(declared.call.lineno, reason, "give the function another fn_id")


def _fn_ids(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            _, tree = parse(file.read(MAX_SOURCE + 1))
    except (OSError, RefusedSkillError):
        return []
    nodes = list(ast.walk(tree))
    return [one.fn_id for one in declared_in(tree, nodes, read_names(tree, nodes)) if one.fn_id is not None]
