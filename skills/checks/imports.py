"""Check imports against the list of what a skill may use, and refuse forbidden builtins.

A name that imports give two meanings is refused too, because the checks could not tell which one is meant.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterator
from types import ModuleType

from skills import kit
from skills.checks.source import SkillSource
from skills.checks.syntax import split_words
from skills.format.problem import SkillProblem

HIDES = "give it a name that nothing else has"


def check_hidden_names(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield imports that give a name a second meaning, or hide a builtin inside a function."""
    at_the_top = {id(node) for node in source.tree.body}
    known: dict[str, str] = {}
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                bound = [(one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2 for one in names]
            case ast.ImportFrom(module=module, names=names):
                bound = [(one.asname or one.name, f"{module}.{one.name}") for one in names]
            case _:
                continue
        for name, dotted in bound:
            if known.setdefault(name, dotted) != dotted:
                yield SkillProblem(node.lineno, f"{name} is imported twice, as two things", HIDES)
            if id(node) not in at_the_top and hasattr(builtins, name):
                yield SkillProblem(node.lineno, f"this import hides Python's own {name}", HIDES)


KIT = "skills.kit"


def _is_own(name: str, value: object, module: str) -> bool:
    """Return whether a module of the kit offers this name to its users."""
    return not name.startswith("_") and (getattr(value, "__module__", "") == module or hasattr(value, "__origin__"))


KIT_NAMES = frozenset(kit.__all__)
KIT_MODULES = {
    name: frozenset(public for public, value in vars(module).items() if _is_own(public, value, module.__name__))
    for name, module in vars(kit).items()
    if name in KIT_NAMES and isinstance(module, ModuleType)
}
"""The public names of each module of the kit."""
LIBRARIES = frozenset(("inngest", "pydantic", "typing_extensions"))
STANDARD = split_words(
    """__future__ abc array base64 binascii bisect calendar cmath collections collections.abc colorsys contextlib copy
    csv dataclasses datetime decimal difflib email.utils enum fnmatch fractions functools graphlib hashlib heapq hmac
    html html.entities html.parser io ipaddress itertools json json.decoder json.encoder keyword logging math numbers
    operator pprint quopri random re reprlib statistics string stringprep struct textwrap time tomllib traceback types
    typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zlib zoneinfo"""
)

_REACHING = split_words("builtins.getattr builtins.setattr builtins.delattr builtins.hasattr")
_NET = "use skills.kit.http, and name the host in permissions.hosts"
_FILES = "a skill has no files: return what must be kept from a step"
_PROCESSES = "a skill starts no process and no thread: use ctx.group.parallel for steps side by side"
_NATIVE = "a skill is plain Python: do without it"
_MODELS = "use skills.kit.llm, and set permissions.model_budget_per_day"
_TALK = "use skills.kit.notify, and name the channel in permissions.notify"
_ENDS = "raise inngest.NonRetriableError to end a run; what is secret comes from skills.kit.secrets"
_FIXES: dict[str, str] = {
    **dict.fromkeys(split_words("httpx requests aiohttp urllib urllib3 http socket ssl ftplib"), _NET),
    **dict.fromkeys(split_words("pathlib shutil tempfile glob sqlite3 shelve dbm pickle marshal"), _FILES),
    **dict.fromkeys(split_words("subprocess multiprocessing threading asyncio concurrent signal pty"), _PROCESSES),
    **dict.fromkeys(split_words("ctypes cffi mmap gc inspect importlib runpy code builtins"), _NATIVE),
    **dict.fromkeys(split_words("openai anthropic litellm"), _MODELS),
    **dict.fromkeys(split_words("smtplib slack_sdk telegram"), _TALK),
    **dict.fromkeys(split_words("os sys posix"), _ENDS),
    "secrets": "for a secret use skills.kit.secrets; for a random name uuid",
}


def check_imports(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield imports and attributes that reach beyond what a skill may use."""
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for one in names:
                    yield from _check_module(one.name, node.lineno)
            case ast.ImportFrom(level=level) if level:
                yield SkillProblem(
                    node.lineno, "a skill file may not import other files", "write the code into this file"
                )
            case ast.ImportFrom(module=str(module), names=names):
                yield from _check_from(module, [one.name for one in names], node.lineno)
            case ast.Attribute():
                yield from _check_attribute(source, node)
            case ast.Call(func=func, args=[of, *_]) if source.names.dotted(func) in _REACHING:
                if _is_module(source.names.dotted(of)):
                    yield SkillProblem(
                        node.lineno,
                        f"{source.shown(of)} may only be used by names that are written out",
                        "write the name out",
                    )
            case _:
                continue
    yield from _modules_as_values(source)


def _check_attribute(source: SkillSource, node: ast.Attribute) -> Iterator[SkillProblem]:
    """Yield the problem of an attribute that leads to a module or name that a skill may not use."""
    dotted, whole = source.names.dotted(node), source.names.dotted(node.value)
    if dotted is None or whole is None:
        return
    module = whole.removeprefix(f"{KIT}.")
    if module in KIT_MODULES and whole != module:
        if node.attr not in KIT_MODULES[module]:
            has = ", ".join(sorted(KIT_MODULES[module]))
            yield SkillProblem(node.lineno, f"{whole} has no {node.attr} for skills", f"it has {has}")
    elif whole == KIT and node.attr not in KIT_NAMES:
        yield SkillProblem(node.lineno, f"skills.kit has no {node.attr}", f"it has {', '.join(sorted(KIT_NAMES))}")
    elif (whole == "skills" and dotted != KIT) or (whole.startswith("skills.") and node.attr.startswith("_")):
        yield SkillProblem(node.lineno, f"a skill may not reach {dotted}", "import from skills.kit")
    elif (reached := _module_behind(dotted)) is not None:
        yield SkillProblem(node.lineno, f"a skill may not reach {dotted}", _fix(reached))


def _module_behind(dotted: str) -> str | None:
    """Return the forbidden module that a name reaches through an allowed one, as in `enum.bltns.open`."""
    parts = dotted.split(".")
    known = (n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in STANDARD | LIBRARIES)
    if (size := next(known, None)) is None:
        return None
    value: object = importlib.import_module(".".join(parts[:size]))
    for part in parts[size:]:
        value = getattr(value, part, None)
        if isinstance(value, ModuleType) and not _is_public(value.__name__):
            return value.__name__
    return None


def _is_public(module: str) -> bool:
    """Return whether a skill may import this module, or reach it through a library that it may import."""
    top, *rest = module.split(".")
    return module in STANDARD or (top in LIBRARIES and not any(part.startswith("_") for part in rest))


def _modules_as_values(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield uses of a module as a value: under another name, its attributes could not be checked."""
    bases = {id(node.value) for node in source.nodes if isinstance(node, ast.Attribute)}
    for node in source.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in bases:
            dotted = source.names.dotted(node)
            if _is_module(dotted):
                yield SkillProblem(
                    node.lineno, f"{dotted} is used as a value", "call what you need of it by its full name"
                )


def _is_module(dotted: str | None) -> bool:
    return dotted in {"skills", KIT, *(f"{KIT}.{name}" for name in KIT_MODULES)}


def _check_module(name: str, line: int) -> Iterator[SkillProblem]:
    if name == KIT or name in LIBRARIES or name in STANDARD:
        return
    # A package is refused even where one of its modules is allowed: `import urllib` does not give urllib.parse.
    yield SkillProblem(line, f"a skill may not import {name}", _fix(name))


def _check_from(module: str, names: list[str], line: int) -> Iterator[SkillProblem]:
    if "*" in names:
        yield SkillProblem(line, f"everything is imported from {module}", "name what you use")
        return
    if module == KIT:
        for name in sorted(set(names) - KIT_NAMES):
            yield SkillProblem(line, f"skills.kit has no {name}", f"it has {', '.join(sorted(KIT_NAMES))}")
        return
    if module == "skills" and names == ["kit"]:
        return
    if module in LIBRARIES or module in STANDARD:
        for name in names:
            if module == "inngest" and name[:1].islower():
                yield SkillProblem(line, f"a skill may not import inngest.{name}", "use what `import inngest` gives")
            elif (reached := _module_behind(f"{module}.{name}")) is not None:
                yield SkillProblem(line, f"a skill may not import {module}.{name}", _fix(reached))
        return
    for name in names:
        if f"{module}.{name}" not in STANDARD:
            yield SkillProblem(line, f"a skill may not import {module}", _fix(module))
            return


def _fix(name: str) -> str:
    """Return what an author can use instead of this module."""
    top = name.partition(".")[0]
    if top == "inngest":
        return "use what `import inngest` gives; models are asked through skills.kit.llm"
    if top == "skills":
        return "import from skills.kit"
    return _FIXES.get(top, "use inngest, skills.kit, pydantic, or what the guide lists of the standard library")


_CODE = "write the code itself"
_NO_FILES = "a skill has no files: return what must be kept from a step"
_NO_EXIT = "raise inngest.NonRetriableError to end a run"
_BUILTIN_FIXES = {
    "__import__": "import at the top of the file",
    "eval": _CODE,
    "exec": _CODE,
    "compile": _CODE,
    "globals": _CODE,
    "locals": _CODE,
    "vars": _CODE,
    "open": _NO_FILES,
    "input": "no person sees a prompt of a skill: ask through notify(…, ask=(…))",
    "breakpoint": "a skill has no terminal: look at its runs",
    "exit": _NO_EXIT,
    "quit": _NO_EXIT,
    "SystemExit": _NO_EXIT,
    "KeyboardInterrupt": _NO_EXIT,
}
# Attributes that lead from any object to the interpreter's internals.
_INSIDES = split_words(
    """__subclasses__ __globals__ __builtins__ __code__ __closure__ __bases__ __mro__ __loader__ __spec__
    __getattribute__ __reduce__ __reduce_ex__ f_globals f_locals f_back gi_frame tb_frame"""
)


def check_forbidden(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield uses of forbidden builtins, own clients, and attributes that lead into the interpreter."""
    for node in source.nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if source.names.dotted(node) == f"builtins.{name}":
                if name in _BUILTIN_FIXES:
                    yield SkillProblem(node.lineno, f"a skill may not use {name}", _BUILTIN_FIXES[name])
                elif name in _INSIDES:
                    yield _inside_problem(name, node.lineno)
            case ast.Call(func=func) if source.names.dotted(func) == "inngest.Inngest":
                yield SkillProblem(node.lineno, "a skill makes no client of its own", "use skills.kit.client")
            case ast.Attribute(attr=attr) if attr in _INSIDES:
                yield _inside_problem(attr, node.lineno)
            case ast.Call(func=func, args=[_, ast.Constant(value=str(attr)), *_]) if attr.startswith("__"):
                if source.names.dotted(func) in {"builtins.getattr", "builtins.setattr", "builtins.delattr"}:
                    yield _inside_problem(attr, node.lineno)
            case _:
                continue


def _inside_problem(name: str, line: int) -> SkillProblem:
    return SkillProblem(line, f"a skill may not reach into the interpreter by {name}", "do without it")
