"""Words that have no place in a skill: they reach for files, for other code, or end the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from skills.checks.source import Source
from skills.checks.word_list import words
from skills.problem import Problem

_CODE = "write the code itself"
_FILES = "a skill has no files: return what must be kept from a step"
_ENDS = "raise inngest.NonRetriableError to end a run"
_FIXES = {
    "__import__": "import at the top of the file",
    "eval": _CODE,
    "exec": _CODE,
    "compile": _CODE,
    "globals": _CODE,
    "locals": _CODE,
    "vars": _CODE,
    "open": _FILES,
    "input": "nobody sits at a skill: ask through notify(…, ask=(…))",
    "breakpoint": "nobody sits at a skill: look at its runs",
    "exit": _ENDS,
    "quit": _ENDS,
    "SystemExit": _ENDS,
    "KeyboardInterrupt": _ENDS,
}
# Ways from any object to the interpreter's insides.
_INSIDES = words(
    """__subclasses__ __globals__ __builtins__ __code__ __closure__ __bases__ __mro__ __loader__ __spec__
    __getattribute__ __reduce__ __reduce_ex__ f_globals f_locals f_back gi_frame tb_frame"""
)


def check_forbidden(source: Source) -> Iterator[Problem]:
    for node in source.nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if source.names.dotted(node) == f"builtins.{name}":
                if name in _FIXES:
                    yield Problem(node.lineno, f"a skill may not use {name}", _FIXES[name])
                elif name in _INSIDES:
                    yield _inside(name, node.lineno)
            case ast.Call(func=func) if source.names.dotted(func) == "inngest.Inngest":
                yield Problem(node.lineno, "a skill makes no client of its own", "use skills.kit.client")
            case ast.Attribute(attr=attr) if attr in _INSIDES:
                yield _inside(attr, node.lineno)
            case ast.Call(func=func, args=[_, ast.Constant(value=str(attr)), *_]) if attr.startswith("__"):
                if source.names.dotted(func) in {"builtins.getattr", "builtins.setattr", "builtins.delattr"}:
                    yield _inside(attr, node.lineno)
            case _:
                continue


def _inside(name: str, line: int) -> Problem:
    return Problem(line, f"a skill may not reach into the interpreter by {name}", "do without it")
