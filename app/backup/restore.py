"""Bringing back what a backup holds."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from app.backup import postgres, sqlite
from app.backup.manifest import DATABASE, FILES, FOLDERS, NAME, BackupError, Manifest, is_ours, read_manifest

_LARGEST_MANIFEST = 64 << 20


def restore_backup(home: Path, sql_url: str, schema_revision: str, source: Path, now: datetime) -> Manifest:
    """Replace what the home holds. The caller holds the home's lock, and `schema_revision` is this release's.

    Nothing is touched before the whole file is read and found sound. What was there is kept in a folder of the home
    named `before-restore-…`; of a PostgreSQL database nothing is kept.
    """
    kind = sa.make_url(sql_url).get_backend_name()
    with tempfile.TemporaryDirectory(dir=home, prefix=".restore-") as name:
        folder = Path(name)
        manifest = _unpack(source, folder)
        _refuse_unfit(manifest, kind, schema_revision)
        database = folder / DATABASE[manifest.database]
        if kind == "postgresql":
            postgres.load(sql_url, database)
            database.unlink()
            _put_in_place(home, folder, None, now)
        else:
            if wrong := sqlite.damage(database):
                raise BackupError(f"the database in this backup is damaged: {wrong}")
            _put_in_place(home, folder, Path(sa.make_url(sql_url).database or ""), now)
    return manifest


def _unpack(source: Path, folder: Path) -> Manifest:
    """Every file in it is named by the manifest, with the bytes the manifest speaks of; anything else is refused."""
    try:
        with tarfile.open(source, "r:") as archive:
            first = archive.next()
            if first is None or first.name != NAME or not first.isreg() or first.size > _LARGEST_MANIFEST:
                raise BackupError(f"{source} is no backup of Loopwright")
            held = archive.extractfile(first)
            manifest = read_manifest(held.read() if held else b"")
            missing = set(manifest.sha256)
            while (member := archive.next()) is not None:
                _unpack_file(archive, member, manifest, folder)
                missing.discard(member.name)
    except (tarfile.TarError, OSError) as error:
        raise BackupError(f"{source} cannot be read: {error}") from None
    if missing:
        raise BackupError(f"{source} is cut off: {sorted(missing)[0]} is missing")
    return manifest


def _unpack_file(archive: tarfile.TarFile, member: tarfile.TarInfo, manifest: Manifest, folder: Path) -> None:
    held = archive.extractfile(member) if member.isreg() else None
    if held is None or not is_ours(member.name) or member.name not in manifest.sha256:
        raise BackupError(f"{member.name!r} has no place in a backup")
    target = folder / member.name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        while piece := held.read(1 << 20):
            digest.update(piece)
            file.write(piece)
    if digest.hexdigest() != manifest.sha256[member.name]:
        raise BackupError(f"{member.name} is damaged in this backup")


def _refuse_unfit(manifest: Manifest, kind: str, schema_revision: str) -> None:
    if manifest.schema_revision != schema_revision:
        raise BackupError(
            f"this backup has schema {manifest.schema_revision}, this release has {schema_revision}: "
            "restore it with the release that made it, then run `loopwright migrate` with this one"
        )
    if manifest.database != kind:
        raise BackupError(
            f"this backup holds a {manifest.database} database, the settings name a {kind} one: "
            "change LOOPWRIGHT_DATABASE_URL"
        )
    if DATABASE[manifest.database] not in manifest.sha256:
        raise BackupError("this backup holds no database")


def _put_in_place(home: Path, folder: Path, database: Path | None, now: datetime) -> None:
    aside = home / f"before-restore-{now:%Y%m%dT%H%M%S%f}"
    aside.mkdir(mode=0o700)
    if database is not None:
        # Its journal belongs to it: left behind, SQLite would play it into the new one.
        for old in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
            _move(old, aside / old.name)
        database.parent.mkdir(parents=True, exist_ok=True)
        _move(folder / DATABASE["sqlite"], database)
    # The engine remembers events of the rows that go: it begins anew, and the watch rings for the rows that come.
    for old in home.glob("engine.sqlite*"):
        _move(old, aside / old.name)
    # The index is of the entries that go; it is built again from those that come.
    shutil.rmtree(home / "index", ignore_errors=True)
    for name in (*FOLDERS, *FILES):
        _move(home / name, aside / name)
        _move(folder / name, home / name)
    if not any(aside.iterdir()):
        aside.rmdir()


def _move(old: Path, new: Path) -> None:
    if old.exists():
        shutil.move(old, new)
