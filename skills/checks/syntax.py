"""Parse a skill file into text and syntax tree, and resolve the names in it."""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from skills.format.manifest import MAX_SOURCE
from skills.format.problem import RefusedSkillError, SkillProblem


def split_words(text: str) -> frozenset[str]:
    """Return the words of a text, to write long lists of names legibly."""
    return frozenset(text.split())


_BUILTINS = frozenset(dir(builtins))
# Longer than any dotted name that a check knows.
_LONGEST = 120


@dataclass(frozen=True)
class Names:
    """The names of a file.

    `aliases` maps imported names to dotted names, `constants` the module-level names that are set once to their values.
    `once` are the names that are bound at a single place of the file.
    """

    aliases: Mapping[str, str]
    bound: frozenset[str]
    constants: Mapping[str, ast.expr]
    once: frozenset[str]
    _known: dict[int, str | None] = field(default_factory=dict, compare=False, repr=False)

    def dotted(self, expression: ast.expr) -> str | None:
        """Return the full name, such as `skills.kit.http.get` or `builtins.open`; None for the file's own names."""
        if not isinstance(expression, ast.Name | ast.Attribute):
            return None
        if (key := id(expression)) not in self._known:
            self._known[key] = self._read(expression)
        return self._known[key]

    def _read(self, expression: ast.expr) -> str | None:
        match expression:
            case ast.Name(id=name) if name in self.aliases:
                return self.aliases[name]
            case ast.Name(id=name) if name not in self.bound and name in _BUILTINS:
                return f"builtins.{name}"
            case ast.Attribute(value=whole, attr=attr):
                before = self.dotted(whole)
                return f"{before}.{attr}" if before is not None and len(before) + len(attr) < _LONGEST else None
            case _:
                return None

    def resolved(self, expression: ast.expr) -> ast.expr:
        """Return the value of a constant's name; any other expression as it is."""
        if isinstance(expression, ast.Name) and expression.id in self.constants:
            return self.constants[expression.id]
        return expression

    def text(self, expression: ast.expr | None) -> str | None:
        """Return a literal string, written here or in a constant; None if it is computed."""
        if expression is None:
            return None
        match self.resolved(expression):
            case ast.Constant(value=str(text)):
                return text
            case _:
                return None


def read_names(tree: ast.Module, nodes: Iterable[ast.AST]) -> Names:
    """Read the names of a file; `nodes` are all nodes of `tree`."""
    aliases: dict[str, str] = {}
    times: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for one in names:
                    bound, dotted = (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
                    aliases[bound] = dotted
            case ast.ImportFrom(module=str(module), names=names, level=0):
                aliases |= {one.asname or one.name: f"{module}.{one.name}" for one in names}
            case _:
                times.update(_bound_by(node))
    own = {name: value for name, value in _module_constants(tree) if times[name] == 1 and name not in aliases}
    # A name that is imported and also set may stand for something else.
    sure = {name: dotted for name, dotted in aliases.items() if not times[name]}
    once = frozenset(name for name, count in times.items() if count == 1 and name not in aliases)
    return Names(sure, frozenset(times) | frozenset(aliases), own, once)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.arg(arg=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case _:
            return


def _module_constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                continue


def parse_source(source: bytes) -> tuple[str, ast.Module]:
    """Return the text of a source and its tree; raises RefusedSkillError."""
    if len(source) > MAX_SOURCE:
        reason = f"the file has more than {MAX_SOURCE} bytes"
        raise RefusedSkillError(SkillProblem(None, reason, "keep data out of the file"))
    text = _decode_source(source)
    try:
        with warnings.catch_warnings():
            # A warning about the author's code does not belong in our log.
            warnings.simplefilter("ignore")
            return text, ast.parse(text)
    except SyntaxError as error:
        raise RefusedSkillError(
            SkillProblem(error.lineno or None, str(error.msg), "correct the syntax on this line")
        ) from None
    except (RecursionError, MemoryError):
        raise RefusedSkillError(SkillProblem(None, "the file is nested too deeply", "write it flatter")) from None
    except ValueError as error:
        reason = f"this is not Python source: {error}"
        raise RefusedSkillError(SkillProblem(None, reason, "save it as UTF-8 text")) from None


def _decode_source(source: bytes) -> str:
    """Decode as UTF-8 and refuse other declared encodings, so that every reader sees the same text."""
    fix = "save it as UTF-8 text"
    try:
        source.decode("utf-8")
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except UnicodeDecodeError as error:
        raise RefusedSkillError(
            SkillProblem(_line_of(source, error.start), f"the file is not UTF-8: {error}", fix)
        ) from None
    except SyntaxError as error:
        raise RefusedSkillError(SkillProblem(1, f"the file is not UTF-8: {error}", fix)) from None
    if (at := source.find(b"\0")) >= 0:
        raise RefusedSkillError(SkillProblem(_line_of(source, at), "there is a null byte in the file", fix))
    if encoding in ("utf-8", "utf-8-sig"):
        return source.decode(encoding)
    raise RefusedSkillError(SkillProblem(1, f"the file says that it is written in {encoding}", fix))


def _line_of(source: bytes, at: int) -> int:
    return source.count(b"\n", 0, at) + 1
