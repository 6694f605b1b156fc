from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from app.cli import main
from app.cli.root import COMMANDS


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_commands_line_is_what_its_own_help_says(name: str) -> None:
    command = main.get_command(click.Context(main), name)

    assert command is not None
    assert COMMANDS[name][1] == command.get_short_help_str(200)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_table_names_commands(name: str) -> None:
    command = main.get_command(click.Context(main), name)

    assert command is not None
    assert command.name == name


def test_the_list_of_commands_loads_none_of_them() -> None:
    program = (
        "import sys; from app.cli import main; main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    for heavy in ("sqlalchemy", "httpx", "pydantic", "flask"):
        assert f"'{heavy}'" not in done.stdout


def test_an_unknown_command_is_wrong_use() -> None:
    assert CliRunner().invoke(main, ["dance"]).exit_code == 2
