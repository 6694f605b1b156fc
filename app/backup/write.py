"""Writing a backup."""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from app.backup import postgres, sqlite
from app.backup.manifest import DATABASE, FILES, FOLDERS, NAME, BackupError, Manifest


def write_backup(home: Path, sql_url: str, schema_revision: str, target: Path, now: datetime) -> Manifest:
    """Write everything that cannot be made again into one tar file. The product may run meanwhile.

    The file appears under its name when it is whole, readable by its owner only, since it holds the keys.
    """
    kind = sa.make_url(sql_url).get_backend_name()
    if kind not in DATABASE:
        raise BackupError(f"a {kind} database cannot be backed up")
    if not target.resolve().parent.is_dir():
        raise BackupError(f"there is no folder {target.resolve().parent}: name a file in one that is there")
    with tempfile.TemporaryDirectory(dir=target.resolve().parent, prefix=".backup-") as folder:
        copy = Path(folder) / DATABASE[kind]
        # First the database: the bytes of works are stored before the rows that name them, so none is missed.
        _copy_database(kind, sql_url, copy)
        files = {copy.name: copy, **dict(_home_files(home))}
        manifest = Manifest.model_validate(
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
        postgres.dump(sql_url, target)
        return
    source = Path(sa.make_url(sql_url).database or "")
    if not source.is_file():
        raise BackupError(f"there is no database at {source}: has `loopwright up` or `loopwright migrate` run here?")
    sqlite.copy_database(source, target)


def _home_files(home: Path) -> Iterator[tuple[str, Path]]:
    for name in FILES:
        if (home / name).is_file():
            yield name, home / name
    for folder in FOLDERS:
        for path in sorted((home / folder).rglob("*")):
            # A link could name anything on this machine.
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(home).as_posix(), path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack(target: Path, manifest: Manifest, files: dict[str, Path], folder: Path) -> None:
    note = folder / NAME
    note.write_text(manifest.model_dump_json(indent=1))
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w") as archive:
        archive.add(note, NAME)
        for name, path in files.items():
            archive.add(path, name, recursive=False)
