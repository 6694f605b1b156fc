"""Output for people and programs: tables and plain text, or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

_WIDEST = 72
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

json_option = click.option("--json", "json_wanted", is_flag=True, help="Print JSON.")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows with aligned columns: a dash for a missing value, times in this machine's zone."""
    lines = [tuple(_cell(row.get(column)) for column in columns) for row in rows]
    widths = [max([len(column), *(len(line[at]) for line in lines)]) for at, column in enumerate(columns)]
    for line in [tuple(column.upper() for column in columns), *lines]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def plain_line(value: object) -> str:
    """Return text as one line without control characters, so that foreign text cannot steer the terminal."""
    text = "" if value is None else str(value)
    return " ".join("".join(char if char.isprintable() or char.isspace() else "\ufffd" for char in text).split())


def plain_paragraphs(value: object) -> str:
    """Return text without control characters, keeping its lines."""
    return "\n".join(plain_line(line) for line in str(value or "").splitlines())


def plain_source(value: object) -> str:
    """Return source text without control characters, keeping its lines and indentation."""
    lines = str(value or "").expandtabs(4).splitlines()
    return "\n".join("".join(char if char.isprintable() else "\ufffd" for char in line) for line in lines)


def local_time(moment: object) -> str:
    """Return a time of the API in this machine's zone, to the second; anything else unchanged."""
    text = plain_line(moment)
    if not _MOMENT.fullmatch(text):
        return text
    try:
        return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError):
        return text


def _cell(value: object) -> str:
    text = local_time(value) or "-"
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
