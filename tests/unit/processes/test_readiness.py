"""What `serve web`, `serve worker` and `serve sidecar` say of a home they cannot serve: a line, and status 1."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from app.cli import main

ADDRESS = {"LOOPWRIGHT_JOBS_URL": "http://127.0.0.1:9"}


def serve(name: str, home: Path, **env: str) -> Result:
    return CliRunner().invoke(main, ["serve", name, "--home", str(home), "--port", "1"], env=env)


def at_schema(home: Path, number: str) -> None:
    engine = sa.create_engine(f"sqlite:///{home / 'loopwright.sqlite'}")
    with engine.begin() as connection:
        connection.execute(sa.text("create table alembic_version (version_num varchar(32))"))
        connection.execute(sa.text("insert into alembic_version values (:number)"), {"number": number})
    engine.dispose()


@pytest.mark.parametrize("name", ["web", "worker", "sidecar"])
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (None, "is at schema none"),
        ("0000", "is at schema 0000"),
        ("9999", "is at schema 9999 and this release knows"),
    ],
)
def test_a_database_of_another_schema(tmp_path: Path, name: str, number: str | None, said: str) -> None:
    if number is not None:
        at_schema(tmp_path, number)

    done = serve(name, tmp_path, **ADDRESS)

    assert done.exit_code == 1
    [line] = done.output.splitlines()
    assert said in line
    assert "loopwright migrate" in line or "loopwright restore" in line


@pytest.mark.parametrize("name", ["web", "worker"])
@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({}, "LOOPWRIGHT_JOBS_URL: the generator `studio` needs its address"),
        ({"LOOPWRIGHT_GENERATORS": "jobs"}, "LOOPWRIGHT_JOBS_URL: the generator `jobs` needs its address"),
        ({"LOOPWRIGHT_GENERATORS": "turnips"}, "LOOPWRIGHT_GENERATORS: 'turnips' is none of"),
        ({**ADDRESS, "LOOPWRIGHT_ASSETS_URL": "bogus://x"}, "LOOPWRIGHT_ASSETS_URL: bogus:// cannot be used"),
    ],
)
def test_settings_that_do_not_fit_together_are_named_beside_the_database(
    tmp_path: Path, name: str, env: dict[str, str], said: str
) -> None:
    done = serve(name, tmp_path, **env)

    assert done.exit_code == 1
    first, second = done.output.splitlines()
    assert said in first
    assert "loopwright migrate" in second
