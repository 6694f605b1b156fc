from __future__ import annotations

from pathlib import Path

from app.doctor.finding import Verdict
from app.doctor.skills import judge_watching, look_at_watching


def test_a_folder_is_watched_and_not_only_looked_at(tmp_path: Path) -> None:
    assert look_at_watching(tmp_path).verdict is Verdict.OK


def test_what_the_system_refuses_is_said_with_what_to_do() -> None:
    found = judge_watching("/home/me: inotify instance limit reached")

    assert found.verdict is Verdict.NOTE
    assert "limit reached" in found.words
    assert "max_user_instances" in found.words
