"""The key of a home: printed with the address, and as good as any other key, revocation included."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from app.bootstrap import PERSON_ID, WORKSPACE_ID, ensure_home
from app.session_secret import session_secret
from core.database import Database
from core.identity import find_key, revoke_key
from core.settings import load_settings


def test_a_home_whose_key_was_revoked_gets_another_at_its_next_start(
    fresh_home: tuple[Path, str], tmp_path: Path
) -> None:
    made, revoked = fresh_home
    home = shutil.copytree(made, tmp_path / "home")
    settings = load_settings(home=home)
    with closing(Database(settings.sql_url)) as database:
        # Given a key that somebody has seen, and its owner has revoked
        speaker = find_key(database, revoked)
        assert speaker is not None
        with database.transaction(WORKSPACE_ID) as scope:
            revoke_key(scope, speaker.key_id)

        # When the product is started, and started again
        first, second = ensure_home(settings), ensure_home(settings)

        # Then there is a new one, and only that is taken
        assert first == second
        assert first.token != revoked
        assert (home / "keys" / "token").read_text() == first.token
        assert (home / "keys" / "token").stat().st_mode & 0o077 == 0
        found = find_key(database, first.token)
        assert found is not None
        assert (found.person_id, found.role) == (PERSON_ID, "owner")
        assert find_key(database, revoked) is None


@pytest.mark.parametrize("name", ["token", "signing", "event", "jobs"])
def test_an_empty_secret_is_none(fresh_home: tuple[Path, str], tmp_path: Path, name: str) -> None:
    home = shutil.copytree(fresh_home[0], tmp_path / "home")
    (home / "keys" / name).write_text("\n")

    boot = ensure_home(load_settings(home=home))

    assert len((home / "keys" / name).read_text()) == 64
    assert all([boot.token, boot.signing_key, boot.event_key, boot.jobs_key])
    with closing(Database(load_settings(home=home).sql_url)) as database:
        assert find_key(database, "") is None


def test_an_empty_session_secret_is_none(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "session").write_text("")

    made = session_secret(tmp_path)

    assert len(made) >= 48
    assert session_secret(tmp_path) == made
