"""`loopwright skills new`, `skills check`: skill files, with or without a running product."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path

import click

from app.cli.home import home_option
from app.cli.output import json_option, plain_line, print_json
from skills.checks import check_source
from skills.checks.gate import missing_programs
from skills.folders import SHIPPED_FOLDER, agent_folder, all_folders, find_skill_files, people_folders
from skills.format.template import render_template

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@click.command()
@click.argument("name")
@click.option("--from", "shipped", metavar="ID", help="Copy a skill that ships with Loopwright.")
@click.option("--use", metavar="OLD=NEW", multiple=True, help="Replace OLD by NEW in the copy, such as a host.")
@home_option
def new(name: str, shipped: str | None, use: tuple[str, ...], home: Path) -> None:
    """Begin a skill: NAME.py in the first folder of LOOPWRIGHT_SKILL_PATH, else in the agent's folder.

    To copy a shipped skill for another host than its file names:

        loopwright skills new checkout_triage --from incident_triage --use 127.0.0.1:9090=prometheus.internal:9090
    """
    if not _NAME.fullmatch(name):
        raise click.BadParameter(
            f"{plain_line(name)!r}: use letters, digits, _ and -, a letter first", param_hint="NAME"
        )
    skill_path = os.environ.get("LOOPWRIGHT_SKILL_PATH", "")
    taken = find_skill_files(all_folders(home, skill_path)).get(name)
    if taken is not None:
        raise click.ClickException(f"there is a skill {name} already: {taken}")
    if use and shipped is None:
        raise click.UsageError("--use changes what --from copies: name a skill with --from")
    text = _copy_shipped(shipped, use) if shipped is not None else render_template(name)
    folder = next(iter(people_folders(home, skill_path)), agent_folder(home))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    # Under another name first, so that a watcher of the folder never reads half a file.
    unfinished = folder / f".{name}.tmp"
    unfinished.write_text(text, encoding="utf-8")
    try:
        os.link(unfinished, file)
    except FileExistsError:
        raise click.ClickException(f"there is a file {file} already") from None
    finally:
        unfinished.unlink()
    click.echo(f"{file}\nLoopwright serves it whenever you save it; `loopwright skills check {file}` checks it first.")


def _copy_shipped(shipped: str, use: tuple[str, ...]) -> str:
    """Return the text of a shipped skill with the replacements made."""
    known = find_skill_files((SHIPPED_FOLDER,))
    if shipped not in known:
        raise click.BadParameter(f"{plain_line(shipped)!r} does not ship; {', '.join(known)} do", param_hint="--from")
    text = known[shipped].read_text(encoding="utf-8")
    for pair in use:
        old, found, new = pair.partition("=")
        if not found or not old or old not in text:
            raise click.BadParameter(
                f"{plain_line(pair)!r}: write OLD=NEW, with an OLD that stands in {shipped}", param_hint="--use"
            )
        text = text.replace(old, new)
    return text


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@home_option
@json_option
def check(file: Path, home: Path, json_wanted: bool) -> None:
    """List every problem of a skill file, without running it; exit status 1 if there is one."""
    folders = (file.resolve().parent, *all_folders(home, os.environ.get("LOOPWRIGHT_SKILL_PATH", "")))
    problems = check_source(file.read_bytes(), file.stem, _other_skills(folders, file.resolve()))
    if json_wanted:
        print_json({"items": [asdict(one) for one in problems], "next": None})
    else:
        for one in problems:
            at = f"{file}:{one.line}" if one.line is not None else str(file)
            click.echo(f"{at}: {plain_line(one.reason)}\n    {plain_line(one.fix)}")
        if not problems:
            click.echo(f"{file}: nothing is wrong")
    for missing in missing_programs():
        click.echo(f"{missing} is not installed, so some checks were skipped", err=True)
    click.get_current_context().exit(1 if problems else 0)


def _other_skills(folders: tuple[Path, ...], file: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        for stem, path in find_skill_files((folder,)).items():
            if path.resolve() != file:
                found.setdefault(stem, path)
    return found
