"""Refuse to start a process that could not work: every problem in a line, before its server begins."""

from __future__ import annotations

import click

from app.preflight import address_problems, plugin_problems, setting_problems
from app.processes.process import ProcessOptions
from app.schema import require_schema
from core.errors import LoopwrightError


def refuse_unready(ask: ProcessOptions, *, speaks_to_providers: bool, has_tools: bool = False) -> None:
    """Raise ClickException with every problem in a line of its own; a supervisor has looked already."""
    if ask.supervised:
        return
    problems = setting_problems(ask.settings)
    if speaks_to_providers:
        problems += [line for line in address_problems(ask.settings) if line not in problems]
    if has_tools and not problems:
        problems += plugin_problems(ask.settings)
    try:
        require_schema(ask.settings)
    except LoopwrightError as error:
        problems.append(str(error))
    if problems:
        raise click.ClickException("\n".join(problems))
