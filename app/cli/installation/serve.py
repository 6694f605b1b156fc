"""`loopwright serve`."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli.settings import home_override, read_settings
from app.processes.process import PROCESSES, ProcessOptions, configure_logging, die_with_stdin, load_runner
from core.process import crash


@click.command()
@click.argument("name", type=click.Choice(list(PROCESSES)))
@home_override
@click.option("--port", type=click.IntRange(1, 65535), help="The port to listen on.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--test-clock", is_flag=True, help="The engine's time stands still until it is moved, for tests.")
@click.option("--supervised", is_flag=True, hidden=True)
def serve(name: str, home: Path | None, port: int | None, host: str, test_clock: bool, supervised: bool) -> None:
    """Run one process in the foreground."""
    if test_clock and name != "engine":
        raise click.UsageError("--test-clock is for `serve engine`")
    settings = read_settings(home)
    if supervised:
        die_with_stdin()
    configure_logging()
    crash.arm(settings.crash_at, settings.home)
    load_runner(name)(ProcessOptions(settings, host, port or PROCESSES[name][1], supervised, test_clock))
