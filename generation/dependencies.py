"""Dependencies that the composition root hands to generation: stores, works of the workspace, providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from core.database import Database, Scope
from core.settings import Settings
from generation.providers.capabilities import Capabilities
from generation.providers.port import Provider


class StoredBytes(Protocol):
    """Bytes in the asset store; the media type is what the bytes themselves look like."""

    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def media_type(self) -> str: ...


class AssetStore(Protocol):
    """Bytes under their own hash; storing what is there already changes nothing."""

    def put(self, data: bytes) -> StoredBytes: ...

    def read(self, sha256: str) -> bytes: ...


class CallbackDependencies(Protocol):
    """What is needed to hear what providers say."""

    @property
    def database(self) -> Database: ...
    @property
    def providers(self) -> Mapping[str, Provider]: ...


class GenerationDependencies(CallbackDependencies, Protocol):
    @property
    def settings(self) -> Settings: ...
    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def assets(self) -> AssetStore: ...


class OrderWork(Protocol):
    """A work of the shared workspace as of one version."""

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
        """The work; ConflictError when it has moved since the task saw it, NotFoundError when it is not there."""
        ...


class FileOutput(Protocol):
    """Files what was made, once per cause: a new work, or the next version of `object_id` where that did not move."""

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
