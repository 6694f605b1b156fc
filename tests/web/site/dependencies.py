"""Dependencies of a web process in these tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from app.bootstrap import ensure_home
from app.schema import all_tables
from core.clock import Clock, SystemClock
from core.database import Database
from core.errors import InvalidError, NotFoundError
from core.search.dependencies import SearchDependencies
from core.search.embedders import HashedPieces
from core.search.index import NoIndex
from core.settings import Settings
from runtime.cards.answers import CardAnswers
from workspace.assets import Assets


class ListedRuns:
    """A run history that holds what a test put into it."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}

    def list(
        self,
        function: str | None = None,
        status: str | None = None,
        since: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Mapping[str, Any]:
        """As an engine does it: a page is cut first and filtered then, so that it may be empty while more follow."""
        if cursor is not None and not cursor.isdigit():
            raise InvalidError(f"Invalid isoformat string: {cursor!r}")
        start = int(cursor or 0)
        page = list(self.runs.values())[start : start + limit]
        found = [
            {name: value for name, value in run.items() if name not in {"steps", "event", "output", "error"}}
            for run in page
            if function in {None, run["function"], f"{run['app']}/{run['function']}"}
            and status in {None, run["status"]}
        ]
        return {"items": found, "next": str(start + limit) if start + limit < len(self.runs) else None}

    def get(self, run_id: str) -> Mapping[str, Any]:
        if run_id not in self.runs:
            raise NotFoundError(f"no run {run_id}")
        return self.runs[run_id]

    def event(self, run_id: str) -> Any:
        return self.get(run_id)["event"]


@dataclass(frozen=True)
class SiteDependencies:
    settings: Settings
    database: Database
    assets: Assets
    clock: Clock = field(default_factory=SystemClock)
    providers: Mapping[str, Any] = field(default_factory=dict)
    card_answers: CardAnswers = field(default_factory=CardAnswers)
    search: SearchDependencies = field(init=False)
    runs: ListedRuns = field(default_factory=ListedRuns)

    def __post_init__(self) -> None:
        # Words and spelling only, over the rows: quick, and the same everywhere.
        object.__setattr__(self, "search", SearchDependencies(self.database, HashedPieces(), NoIndex()))


def make_home(home: Path, database_url: str = "") -> str:
    """A fresh database with its local person; that person's token."""
    settings = Settings(home=home, database_url=database_url)
    home.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(settings.sql_url)
    all_tables().create_all(engine)
    engine.dispose()
    return ensure_home(settings).token


def make_dependencies(home: Path, database_url: str = "") -> SiteDependencies:
    """Parts over a home that was made before."""
    settings = Settings(home=home, database_url=database_url)
    return SiteDependencies(settings, Database(settings.sql_url), Assets((home / "assets").as_uri()))
