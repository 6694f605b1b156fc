"""Check the functions that a file registers: literal ids, unique across files, and options within limits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from skills.checks.source import MOST_FUNCTIONS, DeclaredFunction, SkillSource, find_declared
from skills.checks.syntax import parse_source, read_names
from skills.format.expressions import wrong_expression
from skills.format.manifest import MAX_SOURCE
from skills.format.problem import Overreach, RefusedSkillError, SkillProblem

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
FAILURE = "-failure"
"""Suffix that the SDK appends to a function's id for its `on_failure` handler."""
LONGEST_ID = 100 + len(FAILURE)
MOST_RETRIES, MOST_CONCURRENCY, MOST_CANCELS = 20, 2, 5
_EXPRESSIONS = frozenset(("key", "run", "if_exp", "expression"))


def check_functions(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield the problems of each registered function, and ids that are used twice."""
    if not source.declared:
        yield SkillProblem(None, "the file has no function", "decorate one with @client.create_function(…)")
    for extra in source.too_many[:1]:
        yield SkillProblem(extra.call.lineno, f"the file has more than {MOST_FUNCTIONS} functions", "make it two files")
    for declared in source.declared:
        yield from _check_id(declared)
        yield from _check_handlers(source, declared)
        yield from _check_options(source, declared)
    yield from _repeated_functions(source)


def _check_id(declared: DeclaredFunction) -> Iterator[SkillProblem]:
    line = declared.call.lineno
    if not declared.at_module_level:
        yield SkillProblem(line, "this function is registered inside another one", "register it at module level")
    if any(one.arg is None for one in declared.call.keywords):
        yield SkillProblem(line, "options are passed with **", "write each option out")
    if declared.fn_id is None:
        reason = "the fn_id is computed" if "fn_id" in declared.options else "the function has no fn_id"
        yield SkillProblem(line, reason, 'give it a literal one: fn_id="check-health"')
    elif not _ID.fullmatch(declared.fn_id):
        yield SkillProblem(line, f"{declared.fn_id!r} is not a valid function id", "use letters, digits and hyphens")
    elif declared.fn_id.endswith(FAILURE):
        reason = f"ids that end in {FAILURE} are reserved for failure handlers: {declared.fn_id!r}"
        yield SkillProblem(line, reason, f"end it otherwise, as in {declared.fn_id.removesuffix(FAILURE)}-failed")


def _check_handlers(source: SkillSource, declared: DeclaredFunction) -> Iterator[SkillProblem]:
    line = declared.call.lineno
    if declared.handler is None:
        yield SkillProblem(line, "this function has no handler", "put it above a `def` of the file as a decorator")
    if "on_failure" in declared.options and declared.on_failure is None:
        yield SkillProblem(line, "on_failure is not a function of this file", "name a `def` of this file")
    for handler in (declared.handler, declared.on_failure):
        if isinstance(handler, ast.AsyncFunctionDef):
            fix = "write it with `def` and inngest.ContextSync"
            yield SkillProblem(handler.lineno, f"the handler of {declared.label} is async", fix)


def _check_options(source: SkillSource, declared: DeclaredFunction) -> Iterator[SkillProblem]:
    options = {name: source.names.resolved(value) for name, value in declared.options.items()}
    line = declared.call.lineno
    if (retries := options.get("retries")) is not None:
        match retries:
            case ast.Constant(value=int(number)) if 0 <= number <= MOST_RETRIES:
                pass
            case ast.Constant(value=None):
                pass
            case _:
                reason = f"retries is not a literal number from 0 to {MOST_RETRIES}"
                yield SkillProblem(retries.lineno, reason, "write the number")
    if "concurrency" in options:
        yield from _check_concurrency(source, options["concurrency"])
    if (cancels := options.get("cancel")) is not None and len(getattr(cancels, "elts", [])) > MOST_CANCELS:
        yield SkillProblem(line, f"the function has more than {MOST_CANCELS} cancel rules", "leave some out")
    for name, value in options.items():
        if name not in ("trigger", "middleware"):
            yield from _check_expressions(source, name, value)


def _check_concurrency(source: SkillSource, value: ast.expr) -> Iterator[SkillProblem]:
    if not isinstance(value, ast.List | ast.Tuple):
        yield SkillProblem(value.lineno, "concurrency is not a literal list", "write [inngest.Concurrency(limit=1)]")
        return
    if len(value.elts) > MOST_CONCURRENCY:
        yield SkillProblem(value.lineno, f"the engine takes {MOST_CONCURRENCY} concurrency limits", "leave some out")
    for entry in value.elts:
        call = source.names.resolved(entry)
        if not isinstance(call, ast.Call) or source.names.dotted(call.func) != "inngest.Concurrency":
            yield SkillProblem(entry.lineno, "this is not a literal inngest.Concurrency(…)", "write it out here")
            continue
        scope = next((one.value for one in call.keywords if one.arg == "scope"), None)
        if scope is not None and source.names.text(scope) != "fn" and not _is_none(scope):
            yield Overreach(
                call.lineno, "a limit may not reach beyond its own function", 'leave out `scope`, or set it to "fn"'
            )


def _check_expressions(source: SkillSource, option: str, value: ast.expr) -> Iterator[SkillProblem]:
    """Yield the problems of every expression in an option, such as the key of a limit."""
    named = [(option, value)] if option == "idempotency" else []
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            named += [(one.arg, one.value) for one in node.keywords if one.arg in _EXPRESSIONS]
    for name, expression in named:
        if _is_none(expression):
            continue
        if (text := source.names.text(expression)) is None:
            yield SkillProblem(
                expression.lineno, f"the expression `{name}` is computed", "write it as one literal string"
            )
        elif (wrong := wrong_expression(text, plain=option == "cancel")) is not None:
            fix = "compare fields of the event: event.data.service == 'checkout'"
            yield SkillProblem(expression.lineno, f"{option}: {wrong}", fix)


def _repeated_functions(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield ids that are taken twice; a function with on_failure takes its own and that with `-failure` appended."""
    seen: dict[str, int] = {}
    for declared in source.declared:
        if declared.fn_id is None:
            continue
        ids = [declared.fn_id, declared.fn_id + FAILURE] if "on_failure" in declared.options else [declared.fn_id]
        for one in ids:
            if one in seen:
                reason = f"the function id {one!r} is taken on line {seen[one]}"
                yield SkillProblem(declared.call.lineno, reason, "give each function an fn_id of its own")
            else:
                seen[one] = declared.call.lineno


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


_STEM = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def check_stems(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield an invalid file name, one that another file has, and ids that collide with those of another file."""
    if not _STEM.fullmatch(source.stem):
        reason = f"{source.stem!r} is not a valid name of a skill file"
        yield SkillProblem(None, reason, "use letters, digits, _ and -, a letter first")
    if (other := source.others.get(source.stem)) is not None:
        reason = f"there are two files {source.stem}.py, and {other} has the name already"
        yield SkillProblem(None, reason, "give one of them another name")
    for stem, path in source.others.items():
        if stem.startswith(f"{source.stem}-") or source.stem.startswith(f"{stem}-"):
            yield from _same_ids(source, stem, path)


def _same_ids(source: SkillSource, stem: str, path: Path) -> Iterator[SkillProblem]:
    """Yield ids that collide because an engine joins stem and id with a hyphen: `a` + `b-c` and `a-b` + `c`."""
    theirs = {f"{stem}-{fn_id}" for fn_id in _fn_ids(path)}
    for declared in source.declared:
        if declared.fn_id is not None and f"{source.stem}-{declared.fn_id}" in theirs:
            reason = f"the engine could not tell {declared.fn_id!r} of {source.stem} from a function of {path}"
            yield SkillProblem(declared.call.lineno, reason, "give the function another fn_id")


def _fn_ids(path: Path) -> list[str]:
    """Return the function ids of another skill file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            _, tree = parse_source(file.read(MAX_SOURCE + 1))
    except (OSError, RefusedSkillError):
        return []
    nodes = list(ast.walk(tree))
    return [one.fn_id for one in find_declared(tree, nodes, read_names(tree, nodes)) if one.fn_id is not None]
