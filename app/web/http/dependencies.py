"""The dependencies of the web process, provided by the composition root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from core.clock import Clock
from core.database import Database
from core.search.dependencies import SearchDependencies
from core.settings import Settings
from generation.providers.port import Provider
from runtime.cards.answers import CardAnswers
from workspace.assets import Assets


class RunSource(Protocol):
    """The attached engine's function runs, in the shapes of `/api/v1/runs`. Raises UnavailableError."""

    def list(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Mapping[str, Any]:
        """Return `{items, next}`, newest first. With a filter, a page may be short and still have a `next`."""
        ...

    def get(self, run_id: str) -> Mapping[str, Any]:
        """Return one run with its steps. Raise NotFoundError."""
        ...

    def event(self, run_id: str) -> Any:
        """Return the event that started a run; None if the engine does not know it."""
        ...


class WebDependencies(Protocol):
    """The parts of the product that this process uses."""

    @property
    def settings(self) -> Settings: ...
    @property
    def database(self) -> Database: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def assets(self) -> Assets: ...
    @property
    def providers(self) -> Mapping[str, Provider]: ...
    @property
    def card_answers(self) -> CardAnswers: ...
    @property
    def search(self) -> SearchDependencies: ...
    @property
    def runs(self) -> RunSource: ...
