"""Collect the published names of the product: `python -m tests.published.names` writes them down again.

Others rely on these: running functions resume by step ids, databases hold stored values, people have scripts. What is
collected comes from the running code where it can (functions, tools, tables, settings, commands, paths), and from its
source where names are only arguments (steps, transactions, crash points).
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa
from pydantic import BaseModel

import loopwright.tools
import skills.kit
from app.bootstrap import ensure_home
from app.cli.root import main as command_group
from app.compose import AppDependencies, compose_dependencies
from app.processes.process import PROCESSES
from app.schema import all_tables
from app.schema_upgrade import upgrade_schema
from app.web.application import create_app
from core import events
from core.settings import Settings, load_settings, variable_of
from engine.storage.tables import metadata as engine_tables
from functions.registry import make_functions
from tests.faults.points import every_point

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("names.json")
PRODUCT = (
    *("app", "core", "engine", "functions", "generation", "loopwright", "memory", "router", "runtime", "sidecar"),
    *("skills", "standins", "workspace"),
)
_POSTGRES = sa.create_engine("postgresql+psycopg2://").dialect
_STEP_VERBS = {"run", "wait_for_event", "sleep", "sleep_until", "invoke", "invoke_by_id", "send_event"}
_PROSE = {"title", "description"}
_ELSEWHERE = {"jobs_url": "http://127.0.0.1:1", "openai_base_url": "http://127.0.0.1:1", "model": "any"}
"""Addresses that are only named: nothing here is asked."""


def published_names() -> dict[str, Any]:
    """Return everything that is published, as JSON."""
    with tempfile.TemporaryDirectory() as home:
        settings = load_settings(home=Path(home), **_ELSEWHERE)
        upgrade_schema(settings)
        dependencies = compose_dependencies(settings)
        return {
            "functions": _functions(dependencies),
            "tools": _tools(dependencies),
            "paths": _paths(dependencies),
            "api types": _api_types(dependencies),
            "events": _events(),
            "tables": _tables(all_tables()),
            "engine tables": _tables(engine_tables),
            "settings": {variable_of(name): repr(field.default) for name, field in Settings.model_fields.items()},
            "commands": _command(command_group, click.Context(command_group)),
            "processes": sorted(PROCESSES),
            "kit": sorted(skills.kit.__all__),
            "loopwright.tools": sorted(loopwright.tools.__all__),
            "points": sorted(every_point()),
            **_names_in_source(),
        }


def _functions(dependencies: AppDependencies) -> dict[str, Any]:
    """What the engine is told of each function, less the address."""
    found = {}
    for function in make_functions(dependencies.inngest, dependencies):
        config = function.get_config("http://worker").main.model_dump(mode="json", exclude_none=True)
        found[function.local_id] = config
    return found


def _tools(dependencies: AppDependencies) -> dict[str, Any]:
    tools = (*dependencies.runtime.task_tools, *dependencies.runtime.main_tools)
    return {
        tool.name: {
            "effect": tool.effect.value,
            "repeatable": tool.repeatable,
            "arguments": _without_prose(tool.arguments.model_json_schema()),
        }
        for tool in tools
    }


def _paths(dependencies: AppDependencies) -> list[str]:
    rules = create_app(dependencies).url_map.iter_rules()
    return sorted(f"{method} {rule.rule}" for rule in rules for method in (rule.methods or set()) - {"HEAD", "OPTIONS"})


def _api_types(dependencies: AppDependencies) -> dict[str, Any]:
    """The named shapes of the API's description."""
    client = create_app(dependencies).test_client()
    document = client.get(
        "/api/v1/openapi.json", headers={"Authorization": f"Bearer {ensure_home(dependencies.settings).token}"}
    ).get_json()
    return {name: _without_prose(shape) for name, shape in document["components"]["schemas"].items()}


def _events() -> dict[str, Any]:
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.AgentEvent)]
    return {kind.name: _without_prose(kind.model_json_schema()) for kind in kinds if kind is not events.AgentEvent}


def _tables(metadata: sa.MetaData) -> dict[str, Any]:
    return {
        table.name: {
            "columns": [
                f"{column.name} {column.type.compile(_POSTGRES)} {column.nullable}" for column in table.columns
            ],
            "constraints": sorted(_constraint(one) for one in table.constraints),
            "indexes": sorted(
                f"{one.name}: {', '.join(str(each) for each in one.expressions)}" for one in table.indexes
            ),
        }
        for table in metadata.sorted_tables
    }


def _constraint(one: sa.Constraint) -> str:
    if isinstance(one, sa.CheckConstraint):
        return f"check {one.name}: {one.sqltext}"
    columns = ", ".join(column.name for column in getattr(one, "columns", ()))
    return f"{type(one).__name__} {one.name}: {columns}"


def _command(command: click.Command, context: click.Context) -> Any:
    """The options and arguments of a command, and its commands."""
    takes = sorted(f"{kind.name} {' '.join(kind.opts)} {kind.nargs}" for kind in command.params)
    if not isinstance(command, click.Group):
        return takes
    below = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {"": takes, **{name: _command(one, context) for name, one in below.items() if one is not None}}


def _without_prose(schema: Any) -> Any:
    """A JSON schema without what only people read, and without the names of classes."""
    if isinstance(schema, BaseModel):
        schema = schema.model_dump()
    if isinstance(schema, Mapping):
        definitions = schema.get("$defs", {})
        if "$ref" in schema:
            return {"shape": str(schema["$ref"]).rpartition("/")[2] and "…"}
        kept = {key: value for key, value in schema.items() if key != "$defs" and not _is_prose(key, value)}
        shapes = sorted(json.dumps(_without_prose(one), sort_keys=True) for one in definitions.values())
        return {**{key: _without_prose(value) for key, value in kept.items()}, **({"shapes": shapes} if shapes else {})}
    if isinstance(schema, list):
        return [_without_prose(one) for one in schema]
    return schema


def _is_prose(key: str, value: Any) -> bool:
    return key in _PROSE and isinstance(value, str)


def _names_in_source() -> dict[str, list[str]]:
    """Names that stand as arguments in the source: steps, transactions, crash points, function ids."""
    found: dict[str, set[str]] = {"steps": set(), "transactions": set(), "crash points": set(), "function ids": set()}
    for path in sorted(one for room in PRODUCT for one in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for kind, name in _named(node):
                found[kind].add(name)
    return {kind: sorted(names) for kind, names in found.items()}


def _named(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call(func=ast.Attribute(attr=verb, value=ast.Attribute(attr="step")), args=[first, *_]):
            if verb in _STEP_VERBS and (text := _text(first)):
                yield "steps", text
        case ast.Call(func=ast.Attribute(attr="transaction"), args=args):
            yield from (("transactions", text) for one in args if (text := _text(one)))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="crash")), args=[first, *_]):
            if text := _text(first):
                yield "crash points", text
        case ast.keyword(arg="fn_id", value=value):
            if text := _text(value):
                yield "function ids", text


def _text(node: ast.expr) -> str | None:
    """The words of a string, with `{}` where a value goes in."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in values)
    return None


def as_text(names: Mapping[str, Any]) -> str:
    # How an object is shown in memory is not published.
    return re.sub(r" at 0x[0-9a-f]+", "", json.dumps(names, indent=1, sort_keys=True, ensure_ascii=False)) + "\n"


if __name__ == "__main__":
    STORED.write_text(as_text(published_names()))
