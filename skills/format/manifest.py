"""Read the manifest of a skill file from its syntax tree, without running the file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skills.format.problem import RefusedSkillError, SkillProblem

MAX_SOURCE = 256 * 1024


class Permissions(BaseModel):
    """What a skill may do; anything not named is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: list[str] = Field(default_factory=list)
    secrets: dict[str, str] = Field(default_factory=dict)
    events: dict[str, list[str]] = Field(default_factory=dict)
    invoke: list[str] = Field(default_factory=list)
    memory: str = Field("none", pattern="^(none|read)$")
    ask_agent: bool = False
    notify: list[str] = Field(default_factory=list)
    model_budget_per_day: str = Field("0", pattern=r"^[0-9]+(\.[0-9]+)?$")
    spend: bool = False


class SkillManifest(BaseModel):
    """The literal `MANIFEST` of a skill file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=200)
    purpose: str = Field(min_length=1, max_length=2000)
    permissions: Permissions = Field(default_factory=Permissions)


@dataclass(frozen=True)
class _FoundManifest:
    value: Any
    line: int


def read_manifest(source: bytes) -> SkillManifest:
    """Return the manifest of a source; raises RefusedSkillError."""
    if len(source) > MAX_SOURCE:
        raise RefusedSkillError(
            SkillProblem(None, f"the file has more than {MAX_SOURCE} bytes", "keep data out of the file")
        )
    return parse_manifest(_parse_tree(source))


def parse_manifest(tree: ast.Module) -> SkillManifest:
    """Return the manifest of a parsed file; raises RefusedSkillError with all its problems."""
    found = _find_literal(tree)
    try:
        return SkillManifest.model_validate(found.value)
    except ValidationError as error:
        raise RefusedSkillError(
            *(
                SkillProblem(
                    found.line,
                    f"MANIFEST{''.join(f'[{part!r}]' for part in wrong['loc'])}: {wrong['msg']}",
                    "correct it in the manifest",
                )
                for wrong in error.errors()
            )
        ) from None


def _parse_tree(source: bytes) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise RefusedSkillError(SkillProblem(error.lineno, f"{error.msg}", "correct the syntax on this line")) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise RefusedSkillError(
            SkillProblem(None, f"this is not Python source: {error}", "save it as UTF-8 text")
        ) from None


def _find_literal(tree: ast.Module) -> _FoundManifest:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="MANIFEST")], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id="MANIFEST"), value=ast.expr() as value):
                pass
            case _:
                continue
        try:
            return _FoundManifest(ast.literal_eval(value), statement.lineno)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise RefusedSkillError(
                SkillProblem(statement.lineno, "MANIFEST is not a literal", "write it out without calls, names or sums")
            ) from None
    raise RefusedSkillError(
        SkillProblem(1, "the file has no MANIFEST", 'add MANIFEST = {"title": "…", "purpose": "…", "permissions": {}}')
    )
