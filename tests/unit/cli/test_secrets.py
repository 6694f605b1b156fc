"""`loopwright secrets`: stored for their owner's eyes only, and never shown."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main

VALUE = "xoxb-very-secret"


def run(home: Path, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["secrets", *words, "--home", str(home)], input=typed)


def test_a_secret_is_stored_listed_by_name_replaced_and_deleted(tmp_path: Path) -> None:
    said = [
        run(tmp_path, "set", "METRICS_TOKEN", typed=f"{VALUE}\n"),
        run(tmp_path, "list"),
        run(tmp_path, "list", "--json"),
        run(tmp_path, "set", "METRICS_TOKEN", typed="other"),
        run(tmp_path, "delete", "METRICS_TOKEN"),
        run(tmp_path),
    ]

    assert [one.exit_code for one in said] == [0] * 6
    assert said[1].output == "METRICS_TOKEN\n"
    assert json.loads(said[2].output) == {"items": [{"name": "METRICS_TOKEN"}], "next": None}
    assert said[5].output == ""
    assert VALUE not in "".join(one.output for one in said)


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    run(tmp_path, "set", "TOKEN", typed=VALUE)

    file = tmp_path / "keys" / "secrets" / "TOKEN"
    assert file.read_text() == VALUE
    assert [stat.S_IMODE(one.stat().st_mode) for one in (file, file.parent, file.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]


@pytest.mark.parametrize("name", ["token", "../TOKEN", "1TOKEN", "A" * 65, "A B"])
def test_a_name_that_is_none_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "set", name, typed=VALUE)

    assert done.exit_code == 1
    assert "is no valid secret name" in done.output


@pytest.mark.parametrize("value", ["", "abc", "two\nlines", "trailing ", "ünïcode", "x" * 9000])
def test_a_value_that_no_header_can_hold_is_refused_and_not_shown(tmp_path: Path, value: str) -> None:
    done = run(tmp_path, "set", "TOKEN", typed=value)

    assert done.exit_code == 1
    assert "one line of 4 to 8192 printable ASCII characters" in done.output
    assert not value or value not in done.output
    assert run(tmp_path, "list").output == ""


def test_deleting_what_is_not_there_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "delete", "TOKEN")

    assert (done.exit_code, done.output) == (1, "Error: there is no secret TOKEN\n")
