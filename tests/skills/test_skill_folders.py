"""Where skill files lie, however often and in whichever way a folder is named."""

from __future__ import annotations

import os
from pathlib import Path

from core.settings import load_settings
from sidecar.serve.process import skill_folders
from sidecar.watch.folders import read_folders
from skills.folders import SHIPPED_FOLDER, agent_folder, all_folders, people_folders


def test_a_folder_that_is_named_twice_is_one(tmp_path: Path) -> None:
    home, own = tmp_path / "home", tmp_path / "own"
    own.mkdir()
    (own / "mine.py").write_text("VALUE = 1\n")
    (tmp_path / "link").symlink_to(own)
    skill_path = os.pathsep.join([str(own), str(own) + "/", str(own / ".." / "own"), str(tmp_path / "link")])

    assert people_folders(home, skill_path) == (own.resolve(),)
    settings = load_settings(home=home).model_copy(update={"skill_path": skill_path})
    assert len(read_folders(skill_folders(settings, home.resolve())).files["mine"]) == 1


def test_the_agents_and_the_shipped_folder_stay_what_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    agents = agent_folder(home)
    agents.mkdir(parents=True)
    (agents / "its.py").write_text("VALUE = 1\n")
    skill_path = os.pathsep.join([str(agents), str(SHIPPED_FOLDER)])

    assert people_folders(home, skill_path) == ()
    assert all_folders(home, skill_path) == (SHIPPED_FOLDER, agents)
    settings = load_settings(home=home).model_copy(update={"skill_path": skill_path})
    found = read_folders(skill_folders(settings, home.resolve())).files
    assert [file.origin for file in found["its"]] == ["agent"]
    assert all(len(files) == 1 and files[0].origin == "shipped" for stem, files in found.items() if stem != "its")
