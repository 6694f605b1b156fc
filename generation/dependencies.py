"""Dependencies that the composition root passes to generation: stores, works of the workspace and providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from core.database import Database, Scope
from core.settings import Settings
from generation.providers.capabilities import Capabilities
from generation.providers.port import Provider


class StoredBytes(Protocol):
    """Bytes in the asset store; the media type is detected from the bytes."""

    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def media_type(self) -> str: ...


class AssetStore(Protocol):
    """Store of bytes under their own hash; storing the same bytes again changes nothing."""

    def put(self, data: bytes) -> StoredBytes: ...

    def read(self, sha256: str) -> bytes: ...


class CallbackDependencies(Protocol):
    """Dependencies for taking in callbacks of providers."""

    @property
    def database(self) -> Database: ...
    @property
    def providers(self) -> Mapping[str, Provider]: ...


class GenerationDependencies(CallbackDependencies, Protocol):
    """Dependencies for submitting, polling and settling orders."""

    @property
    def settings(self) -> Settings: ...
    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def assets(self) -> AssetStore: ...


class OrderWork(Protocol):
    """A work of the shared workspace in one version."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def media_type(self) -> str: ...
    @property
    def sha256(self) -> str: ...


class OrderWorks(Protocol):
    """The shared workspace, as far as an order needs it."""

    def check_current(self, scope: Scope, object_id: str, task_id: str | None) -> OrderWork:
        """Return the work.

        Raises ConflictError when it has changed since the task saw it, NotFoundError when it does not exist.
        """
        ...


class FileOutput(Protocol):
    """Store an output as a work, once per cause.

    It becomes the next version of `object_id` while that is still at `base_version`, otherwise a new work.
    """

    def __call__(
        self,
        scope: Scope,
        *,
        kind: str,
        title: str,
        asset: Any,
        task_id: str | None,
        cause: str,
        recipe: Mapping[str, Any],
        object_id: str | None = None,
        base_version: int | None = None,
    ) -> OrderWork: ...
