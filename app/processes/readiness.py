"""Refuse to start a process that could not work, with a line for every problem."""

from __future__ import annotations

import click

from app.preflight import address_problems, plugin_problems, setting_problems
from app.processes.process import ProcessOptions
from app.schema import require_schema
from core.errors import LoopwrightError


def refuse_unready(options: ProcessOptions, *, speaks_to_providers: bool, has_tools: bool = False) -> None:
    """Raise ClickException with one line a problem. A supervised process is not checked: its supervisor did."""
    if options.supervised:
        return
    problems = setting_problems(options.settings)
    if speaks_to_providers:
        problems += [line for line in address_problems(options.settings) if line not in problems]
    if speaks_to_providers and not problems:
        problems += plugin_problems(options.settings, has_tools=has_tools)
    try:
        require_schema(options.settings)
    except LoopwrightError as error:
        problems.append(str(error))
    if problems:
        raise click.ClickException("\n".join(problems))
