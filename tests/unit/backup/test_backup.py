"""A backup of a home comes back whole, and a bad file changes nothing."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
import stat
import tarfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.backup.archive import restore_backup, write_backup
from app.backup.manifest import BackupError, belongs_in_backup

NOW = datetime(2030, 5, 1, 12, tzinfo=UTC)
SCHEMA = "0001"


def url(home: Path) -> str:
    return f"sqlite:///{home / 'loopwright.sqlite'}"


def rows(home: Path) -> list[str]:
    with closing(sqlite3.connect(home / "loopwright.sqlite")) as connection:
        return [row[0] for row in connection.execute("SELECT text FROM notes ORDER BY text")]


def write(home: Path, text: str) -> None:
    with closing(sqlite3.connect(home / "loopwright.sqlite")) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS notes (text)")
        connection.execute("INSERT INTO notes VALUES (?)", (text,))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a database, a key, a work and a skill."""
    home = tmp_path / "home"
    for folder in ("keys", "assets/ab", "workspace/functions"):
        (home / folder).mkdir(parents=True)
    (home / "keys" / "token").write_text("secret")
    (home / "assets" / "ab" / "abcd").write_bytes(b"\x89PNG")
    (home / "workspace" / "functions" / "ping.py").write_text("pass")
    (home / "session.key").write_text("session")
    write(home, "before")
    return home


@pytest.fixture
def backup(home: Path, tmp_path: Path) -> Path:
    target = tmp_path / "loopwright.backup"
    write_backup(home, url(home), SCHEMA, target, NOW)
    return target


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    empty = tmp_path / "empty"
    empty.mkdir()
    return empty


def snapshot(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_everything_comes_back_in_a_new_home(backup: Path, empty: Path) -> None:
    restore_backup(empty, url(empty), SCHEMA, backup, NOW)

    assert rows(empty) == ["before"]
    assert (empty / "keys" / "token").read_text() == "secret"
    assert (empty / "assets" / "ab" / "abcd").read_bytes() == b"\x89PNG"
    assert (empty / "workspace" / "functions" / "ping.py").read_text() == "pass"
    assert (empty / "session.key").read_text() == "session"
    assert not list(empty.glob("before-restore-*"))


def test_what_was_there_is_kept_aside(home: Path, backup: Path) -> None:
    write(home, "after")
    (home / "assets" / "ab" / "ffff").write_bytes(b"new")
    (home / "index").mkdir()
    (home / "index" / "chroma.sqlite3").write_bytes(b"of what goes")

    restore_backup(home, url(home), SCHEMA, backup, NOW)

    (aside,) = home.glob("before-restore-*")
    assert rows(home) == ["before"]
    assert not (home / "assets" / "ab" / "ffff").exists()
    assert not (home / "index").exists()
    assert rows(aside) == ["after", "before"]
    assert (aside / "assets" / "ab" / "ffff").read_bytes() == b"new"


def test_it_is_taken_while_somebody_writes(home: Path, tmp_path: Path, empty: Path) -> None:
    with closing(sqlite3.connect(home / "loopwright.sqlite")) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO notes VALUES ('uncommitted')")
        write_backup(home, url(home), SCHEMA, tmp_path / "open.backup", NOW)
        writer.rollback()

    restore_backup(empty, url(empty), SCHEMA, tmp_path / "open.backup", NOW)
    assert rows(empty) == ["before"]


def test_only_its_owner_can_read_it(backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_another_schema_is_refused_by_name(home: Path, backup: Path) -> None:
    before = snapshot(home)

    with pytest.raises(BackupError, match="has schema 0001, this release has 0002"):
        restore_backup(home, url(home), "0002", backup, NOW)

    assert snapshot(home) == before


def test_a_home_without_a_database_is_not_backed_up(empty: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="no database"):
        write_backup(empty, url(empty), SCHEMA, tmp_path / "none.backup", NOW)

    assert not (tmp_path / "none.backup").exists()


def test_a_folder_that_is_not_there_is_named(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match=r"there is no folder .*/nowhere: "):
        write_backup(home, url(home), SCHEMA, tmp_path / "nowhere" / "backup", NOW)


@pytest.mark.parametrize("content", [b"", b"# A text\n" * 200, gzip.compress(b"no backup", mtime=0)])
def test_what_is_no_backup_is_refused_in_a_line(home: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(BackupError, match="cannot be read") as refused:
        restore_backup(home, url(home), SCHEMA, tmp_path / "file", NOW)

    assert "\n" not in str(refused.value)


def test_links_are_left_out(home: Path, tmp_path: Path) -> None:
    (home / "workspace" / "passwd").symlink_to("/etc/passwd")
    write_backup(home, url(home), SCHEMA, tmp_path / "links.backup", NOW)

    with tarfile.open(tmp_path / "links.backup") as archive:
        assert "workspace/passwd" not in archive.getnames()


def rewritten(backup: Path, change: str, target: Path) -> Path:
    """The same backup with one fault in it."""
    with tarfile.open(backup) as old, tarfile.open(target, "w") as new:
        for member in old:
            held = old.extractfile(member)
            content = held.read() if held else b""
            if change == "byte" and member.name == "assets/ab/abcd":
                content = b"\x89PNX"
            if change == "lost" and member.name == "keys/token":
                continue
            if change == "climb" and member.name == "manifest.json":
                manifest = json.loads(content)
                manifest["sha256"]["../../outside"] = "0" * 64
                content = json.dumps(manifest).encode()
            if change == "link" and member.name == "keys/token":
                member.type, member.linkname, content = tarfile.SYMTYPE, "/etc/passwd", b""
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
        if change == "extra":
            extra = tarfile.TarInfo("workspace/functions/evil.py")
            new.addfile(extra, io.BytesIO(b""))
    return target


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("byte", "assets/ab/abcd is damaged"),
        ("lost", "is cut off: keys/token is missing"),
        ("climb", "does not belong in a backup"),
        ("link", "does not belong in a backup"),
        ("extra", "does not belong in a backup"),
    ],
)
def test_a_faulty_backup_changes_nothing(home: Path, backup: Path, tmp_path: Path, change: str, words: str) -> None:
    faulty = rewritten(backup, change, tmp_path / "faulty.backup")
    before = snapshot(home)

    with pytest.raises(BackupError, match=words):
        restore_backup(home, url(home), SCHEMA, faulty, NOW)

    assert snapshot(home) == before


@pytest.mark.parametrize("kept", [0, 700, 5_000])
def test_a_cut_file_changes_nothing(home: Path, backup: Path, kept: int) -> None:
    os.truncate(backup, kept)
    before = snapshot(home)

    with pytest.raises(BackupError):
        restore_backup(home, url(home), SCHEMA, backup, NOW)

    assert snapshot(home) == before


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("keys/token", True),
        ("keys/secrets/METRICS_TOKEN", True),
        ("assets/a/b", True),
        ("session.key", True),
        ("keys", False),
        ("/keys/token", False),
        ("keys/../../x", False),
        ("up.lock", False),
        ("elsewhere/x", False),
        ("", False),
    ],
)
def test_only_a_homes_own_places_are_in_a_backup(name: str, ours: bool) -> None:
    assert belongs_in_backup(name) is ours
