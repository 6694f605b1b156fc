"""What `doctor` says of files that are no skills by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.doctor.finding import Verdict
from app.doctor.skills import look_at_skill_files
from core.settings import load_settings
from skills.folders import agent_folder


@pytest.mark.parametrize("name", ["café.py", "a b.py", "2fast.py", "_own.py", "watch.bak.py", "WATCH.PY"])
def test_a_file_that_is_no_skill_by_its_name_is_named(tmp_path: Path, name: str) -> None:
    agent_folder(tmp_path).mkdir(parents=True)
    (agent_folder(tmp_path) / "watch-prices.py").touch()
    (agent_folder(tmp_path) / name).touch()
    found = look_at_skill_files(load_settings(home=tmp_path))
    assert (found.verdict, found.words.partition(":")[0]) == (Verdict.NOTE, name)


@pytest.mark.parametrize("name", [".watch.py", "#watch.py#", "watch.py~", "4913", "watch.pyc", ".#watch.py"])
def test_what_editors_leave_is_nothing_to_tell(tmp_path: Path, name: str) -> None:
    agent_folder(tmp_path).mkdir(parents=True)
    (agent_folder(tmp_path) / name).touch()
    assert look_at_skill_files(load_settings(home=tmp_path)).verdict is Verdict.OK


def test_a_folder_of_the_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path).model_copy(update={"skill_path": str(tmp_path.parent / "nowhere")})
    found = look_at_skill_files(settings)
    assert found.verdict is Verdict.NOTE
    assert "nowhere" in found.words
