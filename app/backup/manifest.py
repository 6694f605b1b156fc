"""The manifest of a backup: format, kind of database, and checksums of all files."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

MANIFEST_NAME = "manifest.json"
# The contents of a home that cannot be recreated. The engine's state can: the watch resumes open work from our rows.
HOME_FOLDERS = ("assets", "keys", "workspace")
HOME_FILES = ("session.key",)
DATABASE_FILES = {"sqlite": "database.sqlite", "postgresql": "database.dump"}


class BackupError(RuntimeError):
    """A backup or restore is not possible. The message says why and what to do."""


class BackupManifest(BaseModel):
    """The first file of a backup. `schema_revision` is the database's; `sha256` maps every other file to its hash."""

    model_config = ConfigDict(frozen=True)

    format: Literal[1] = 1
    made_at: datetime
    schema_revision: str
    database: Literal["sqlite", "postgresql"]
    sha256: dict[str, str]

    @field_validator("sha256")
    @classmethod
    def _only_our_places(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not belongs_in_backup(name):
                raise ValueError(f"{name!r} does not belong in a backup")
        return value


def belongs_in_backup(name: str) -> bool:
    """Return whether a backup may contain a file of this name. Names outside the home's folders are refused."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name:
        return False
    if len(parts) == 1:
        return name in HOME_FILES or name in DATABASE_FILES.values()
    return parts[0] in HOME_FOLDERS


def read_manifest(raw: bytes) -> BackupManifest:
    """Parse a manifest. Raise BackupError that names the first wrong field."""
    try:
        return BackupManifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or MANIFEST_NAME
        raise BackupError(f"this backup cannot be read: {place}: {first['msg']}") from None
