"""`skills new` and `skills check`: files, without a running product."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from skills.checks import check_source
from skills.format.manifest import read_manifest
from skills.format.template import render_template
from tests.skills.skill_files import GOOD


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["skills", *words])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LOOPWRIGHT_SKILL_PATH", raising=False)
    return tmp_path / "home"


@pytest.mark.parametrize("stem", ["night_watch", "night-watch", "Night2", "x"])
def test_a_new_file_passes_every_check(stem: str) -> None:
    assert check_source(render_template(stem).encode(), stem, {}) == []


def test_a_new_skill_lies_in_the_agents_folder(home: Path) -> None:
    done = run("new", "night_watch")
    file = home / "workspace" / "functions" / "night_watch.py"
    assert (done.exit_code, done.output.splitlines()[0]) == (0, str(file))
    assert file.read_text() == render_template("night_watch")
    assert [one.name for one in file.parent.iterdir()] == ["night_watch.py"]


def test_a_new_skill_lies_in_the_first_folder_of_the_persons_own(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPWRIGHT_SKILL_PATH", f"{tmp_path / 'mine'}:{tmp_path / 'ours'}")
    assert run("new", "night_watch").exit_code == 0
    assert (tmp_path / "mine" / "night_watch.py").is_file()
    assert not home.exists()


def test_a_file_that_is_there_stays_as_it_is(home: Path) -> None:
    run("new", "night_watch")
    file = home / "workspace" / "functions" / "night_watch.py"
    file.write_text("mine")
    done = run("new", "night_watch")
    assert done.exit_code == 1
    assert str(file) in done.output
    assert file.read_text() == "mine"


@pytest.mark.parametrize("name", ["../up", "1st", "a b", ".hidden", "x" * 65, "a/b"])
def test_a_name_that_is_none_is_wrong_use(name: str, home: Path) -> None:
    assert run("new", name).exit_code == 2
    assert not home.exists()


def test_a_shipped_name_is_taken() -> None:
    assert "infra_health_check.py" in run("new", "infra_health_check").output


def test_a_good_file_is_said_to_be_good(tmp_path: Path) -> None:
    file = tmp_path / "words.py"
    file.write_text(GOOD)
    done = run("check", str(file))
    assert (done.exit_code, done.output) == (0, f"{file}: nothing is wrong\n")


def test_problems_are_told_with_line_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "words.py"
    file.write_text(GOOD + "import os\n")
    done = run("check", str(file))
    assert done.exit_code == 1
    assert done.output.startswith(f"{file}:10: a skill may not import os\n    ")
    items = json.loads(run("check", "--json", str(file)).output)["items"]
    assert [one["line"] for one in items] == [10]


def test_a_name_that_another_folder_has_is_told(home: Path, tmp_path: Path) -> None:
    run("new", "words")
    file = tmp_path / "words.py"
    file.write_text(GOOD)
    assert str(home / "workspace" / "functions" / "words.py") in run("check", str(file)).output


def test_the_help_lists_every_command() -> None:
    words = run("--help").output.split()
    assert {"new", "check", "show", "enable", "disable", "rollback"} <= set(words)


def test_a_shipped_skill_is_copied_for_another_machine_and_passes_every_check(home: Path) -> None:
    first = run("new", "night_triage", "--from", "incident_triage", "--use", "127.0.0.1:9090=metrics.example:9090")
    second = run(
        "new", "night_check", "--from", "infra_health_check",
        "--use", "127.0.0.1:9090=metrics.example:9090", "--use", "incident_triage=night_triage",
    )  # fmt: skip
    assert (first.exit_code, second.exit_code) == (0, 0)
    folder = home / "workspace" / "functions"
    triage, check = ((folder / f"{stem}.py").read_bytes() for stem in ("night_triage", "night_check"))
    assert check_source(triage, "night_triage", {}) == check_source(check, "night_check", {}) == []
    assert read_manifest(check).permissions.hosts == ["metrics.example:9090"]
    assert read_manifest(check).permissions.invoke == ["skill-night_triage/incident-triage"]
    assert b'app_id="skill-night_triage"' in check


@pytest.mark.parametrize(
    "words",
    [
        ("--from", "nothing"),
        ("--from", "incident_triage", "--use", "not-there=x"),
        ("--from", "incident_triage", "--use", "127.0.0.1:9090"),
        ("--use", "a=b"),
    ],
)
def test_a_copy_of_what_is_not_there_is_refused(home: Path, words: tuple[str, ...]) -> None:
    assert run("new", "night_triage", *words).exit_code == 2
    assert not home.exists()
