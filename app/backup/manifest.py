"""The manifest of a backup: its format, its database, and the checksums of all files in it."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

MANIFEST_NAME = "manifest.json"
# What a home holds that cannot be made again. The engine's own state is not among it: the watch rings again from our
# rows whatever was under way.
HOME_FOLDERS = ("assets", "keys", "workspace")
HOME_FILES = ("session.key",)
DATABASE_FILES = {"sqlite": "database.sqlite", "postgresql": "database.dump"}


class BackupError(RuntimeError):
    """It cannot be done; says why and what to do."""


class BackupManifest(BaseModel):
    """`schema_revision` is the database's; `sha256` covers every other file in the backup, by its name there."""

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
                raise ValueError(f"{name!r} has no place in a backup")
        return value


def belongs_in_backup(name: str) -> bool:
    """May a file of this name be in a backup? Nothing outside a home's own folders is."""
    dependencies = PurePosixPath(name).parts
    if not dependencies or name.startswith("/") or ".." in dependencies or "\\" in name:
        return False
    if len(dependencies) == 1:
        return name in HOME_FILES or name in DATABASE_FILES.values()
    return dependencies[0] in HOME_FOLDERS


def read_manifest(raw: bytes) -> BackupManifest:
    try:
        return BackupManifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or MANIFEST_NAME
        raise BackupError(f"this backup cannot be read: {place}: {first['msg']}") from None
