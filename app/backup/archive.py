"""Backup files: write a home into one, and restore a home from one."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from app.backup import databases
from app.backup.manifest import (
    DATABASE_FILES,
    HOME_FILES,
    HOME_FOLDERS,
    MANIFEST_NAME,
    BackupError,
    BackupManifest,
    belongs_in_backup,
    read_manifest,
)
from core.database import Database
from core.tables import workspaces

_LARGEST_MANIFEST = 64 << 20
# More changes than can happen after a backup, and more than the stream replays one by one.
_SKIPPED_NUMBERS = 10**9


def write_backup(home: Path, sql_url: str, schema_revision: str, target: Path, now: datetime) -> BackupManifest:
    """Write everything that cannot be recreated into one tar file. The product may run meanwhile.

    The file appears under its name only when complete. It contains the keys, so only its owner can read it.
    """
    kind = sa.make_url(sql_url).get_backend_name()
    if kind not in DATABASE_FILES:
        raise BackupError(f"a {kind} database cannot be backed up")
    if not target.resolve().parent.is_dir():
        raise BackupError(f"there is no folder {target.resolve().parent}: name a file in one that is there")
    with tempfile.TemporaryDirectory(dir=target.resolve().parent, prefix=".backup-") as folder:
        copy = Path(folder) / DATABASE_FILES[kind]
        # The database first: bytes of works are stored before the rows that name them, so none is missed.
        _copy_database(kind, sql_url, copy)
        files = {copy.name: copy, **dict(_home_files(home))}
        manifest = BackupManifest.model_validate(
            {
                "made_at": now,
                "schema_revision": schema_revision,
                "database": kind,
                "sha256": {name: _sha256(path) for name, path in files.items()},
            }
        )
        draft = Path(folder) / "draft.tar"
        _pack(draft, manifest, files, Path(folder))
        os.replace(draft, target)
    return manifest


def _copy_database(kind: str, sql_url: str, target: Path) -> None:
    if kind == "postgresql":
        databases.dump_postgres(sql_url, target)
        return
    source = Path(sa.make_url(sql_url).database or "")
    if not source.is_file():
        raise BackupError(f"there is no database at {source}: has `loopwright up` or `loopwright migrate` run here?")
    databases.copy_sqlite(source, target)


def _home_files(home: Path) -> Iterator[tuple[str, Path]]:
    for name in HOME_FILES:
        if (home / name).is_file():
            yield name, home / name
    for folder in HOME_FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            # A link could point to any file on this machine.
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(home).as_posix(), path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack(target: Path, manifest: BackupManifest, files: dict[str, Path], folder: Path) -> None:
    note = folder / MANIFEST_NAME
    note.write_text(manifest.model_dump_json(indent=1))
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(note, MANIFEST_NAME)
        for name, path in files.items():
            archive.add(path, name, recursive=False)


def restore_backup(home: Path, sql_url: str, schema_revision: str, source: Path, now: datetime) -> BackupManifest:
    """Replace the contents of a home. The caller holds the home's lock; `schema_revision` is this release's.

    Nothing changes before the whole file is read and checked. The previous contents are kept in a folder of the home
    named `before-restore-…`, except those of a PostgreSQL database.
    """
    kind = sa.make_url(sql_url).get_backend_name()
    with tempfile.TemporaryDirectory(dir=home, prefix=".restore-") as name:
        folder = Path(name)
        manifest = _unpack(source, folder)
        _refuse_unfit(manifest, kind, schema_revision)
        database = folder / DATABASE_FILES[manifest.database]
        if kind == "postgresql":
            databases.load_postgres(sql_url, database)
            database.unlink()
            _put_in_place(home, folder, None, now)
        else:
            if damage := databases.find_sqlite_damage(database):
                raise BackupError(f"the database in this backup is damaged: {damage}")
            _put_in_place(home, folder, Path(sa.make_url(sql_url).database or ""), now)
    return manifest


def _unpack(source: Path, folder: Path) -> BackupManifest:
    """Extract the files. Refuse any that the manifest does not name, or whose checksum differs."""
    try:
        with tarfile.open(source, "r:") as archive:
            first = archive.next()
            if first is None or first.name != MANIFEST_NAME or not first.isreg() or first.size > _LARGEST_MANIFEST:
                raise BackupError(f"{source} is not a backup of Loopwright")
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


def _unpack_file(archive: tarfile.TarFile, member: tarfile.TarInfo, manifest: BackupManifest, folder: Path) -> None:
    held = archive.extractfile(member) if member.isreg() else None
    if held is None or not belongs_in_backup(member.name) or member.name not in manifest.sha256:
        raise BackupError(f"{member.name!r} does not belong in a backup")
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


def _refuse_unfit(manifest: BackupManifest, kind: str, schema_revision: str) -> None:
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
    if DATABASE_FILES[manifest.database] not in manifest.sha256:
        raise BackupError("this backup holds no database")


def _put_in_place(home: Path, folder: Path, database: Path | None, now: datetime) -> None:
    aside = home / f"before-restore-{now:%Y%m%dT%H%M%S%f}"
    aside.mkdir(mode=0o700)
    if database is not None:
        # Its journal moves too: SQLite would apply a journal that was left to the new database.
        for old in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
            _move(old, aside / old.name)
        database.parent.mkdir(parents=True, exist_ok=True)
        _move(folder / DATABASE_FILES["sqlite"], database)
    # The engine's events refer to the replaced rows. It starts empty, and the watch sends events for the restored rows.
    for old in home.glob("engine.sqlite*"):
        _move(old, aside / old.name)
    # The index is rebuilt from the restored entries.
    shutil.rmtree(home / "index", ignore_errors=True)
    for name in (*HOME_FOLDERS, *HOME_FILES):
        _move(home / name, aside / name)
        _move(folder / name, home / name)
    if not any(aside.iterdir()):
        aside.rmdir()


def _move(old: Path, new: Path) -> None:
    if old.exists():
        shutil.move(old, new)


def skip_change_numbers(sql_url: str) -> None:
    """Advance the change numbers, so that open pages reload everything after a restore.

    A page that has seen changes which the restore undid asks for what follows their number. It must not get the new
    changes that would otherwise reuse these numbers.
    """
    database = Database(sql_url)
    try:
        with database.unscoped() as connection:
            connection.execute(sa.update(workspaces).values(change_seq=workspaces.c.change_seq + _SKIPPED_NUMBERS))
    finally:
        database.close()
