"""How commands print: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

json_option = click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")


def as_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """One line a row, columns aligned; a dash where there is nothing."""
    lines = [tuple(_cell(row.get(column)) for column in columns) for row in rows]
    widths = [max([len(column), *(len(line[at]) for line in lines)]) for at, column in enumerate(columns)]
    for line in [tuple(column.upper() for column in columns), *lines]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    # What a model or a stranger wrote must not move the cursor or start a new line.
    text = "-" if value is None or value == "" else str(value)
    text = " ".join("".join(char if char.isprintable() or char.isspace() else "\ufffd" for char in text).split())
    return text if len(text) <= 72 else text[:71] + "…"
