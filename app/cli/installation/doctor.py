"""`loopwright doctor`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from app.cli.output import json_option, print_json
from app.cli.settings import home_override, read_settings
from app.doctor.finding import Verdict
from app.doctor.installation import examine_installation


@click.command()
@home_override
@json_option
def doctor(home: Path | None, json_wanted: bool) -> None:
    """Check settings, home, database, processes and engine.

    The exit status is 1 when something is wrong.
    """
    findings = list(examine_installation(read_settings(home)))
    if json_wanted:
        print_json({"items": [asdict(finding) for finding in findings], "next": None})
    else:
        for finding in findings:
            click.echo(f"{finding.verdict:8} {finding.subject:10} {finding.words}")
    sys.exit(1 if any(finding.verdict is Verdict.PROBLEM for finding in findings) else 0)
