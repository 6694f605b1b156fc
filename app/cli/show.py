"""How commands print: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

_WIDEST = 72

json_option = click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")


def as_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """One line a row, columns aligned; a dash where there is nothing."""
    lines = [tuple(_cell(row.get(column)) for column in columns) for row in rows]
    widths = [max([len(column), *(len(line[at]) for line in lines)]) for at, column in enumerate(columns)]
    for line in [tuple(column.upper() for column in columns), *lines]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def plain(value: object) -> str:
    """One line of text without control characters: what a model or a stranger wrote must not steer the terminal."""
    text = "" if value is None else str(value)
    return " ".join("".join(char if char.isprintable() or char.isspace() else "\ufffd" for char in text).split())


def paragraphs(value: object) -> str:
    """The same for a longer text: its lines stay."""
    return "\n".join(plain(line) for line in str(value or "").splitlines())


def _cell(value: object) -> str:
    text = plain(value) or "-"
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
