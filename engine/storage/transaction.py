"""A transaction: one atomic operation on the engine's database, and what follows once it is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Executable

from core.sql.compiled import ConstantStatement, StatementResult, run_once, run_statement
from engine.event import EngineEvent
from engine.formats.ids import Ulids
from engine.rows import Row
from engine.settings import EngineSettings
from engine.storage.registry import Registry


@dataclass(frozen=True)
class AppCall:
    """The HTTP call of a claimed item, with everything that its request contains."""

    item_id: str
    kind: str
    run_id: str
    function_id: str
    step_id: str
    attempt: int
    max_attempts: int
    plan_only: bool
    sdk_version: int
    state_size: int
    events: str
    memos: Sequence[tuple[str, str]]
    """Hashed step ids and memos, in the order of the stack."""
    limited: bool
    """Whether the item holds slots of concurrency limits."""
    batched: bool
    """Whether the run may have more than one event."""
    body: str | None = None


@dataclass(frozen=True)
class CachedRun:
    """A run's row as this transaction read it, and the values that it has changed since."""

    row: Row
    plan_only: bool
    state_size: int


@dataclass
class Transaction:
    """An operation's access to the database, and what it leaves for the dispatcher to do after the commit."""

    connection: Connection
    now: int
    owner: str
    registry: Registry
    settings: EngineSettings
    ids: Ulids
    outbox: list[EngineEvent] = field(default_factory=list)
    """Events that are delivered before the commit."""
    calls: list[AppCall] = field(default_factory=list)
    """Calls to be made after the commit."""
    next_due: int | None = None
    """The earliest time for which the timer must wake up."""
    cached_runs: dict[str, CachedRun] = field(default_factory=dict)
    cached_stacks: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Whole stacks of runs that this transaction has locked; a stack only grows, and only under that lock."""
    ended: list[str] = field(default_factory=list)
    """The ids of runs that this transaction ended."""
    added_items: int = 0
    """The number of items that were added to the queue."""
    held_back: bool = False
    """Whether the submitter starts the calls, instead of the dispatcher."""

    def run(self, statement: ConstantStatement, parameters: Mapping[str, Any] | None = None) -> StatementResult:
        """Run a statement that is a constant of its module; it is compiled once."""
        return run_statement(self.connection, statement, parameters or {})

    def run_later(self, statement: ConstantStatement, parameters: Mapping[str, Any] | None = None) -> None:
        """Run a constant whose result is not needed; PostgreSQL gets it together with the next one or the commit."""
        run_statement(self.connection, statement, parameters or {}, later=True)

    def change(self, statement: ConstantStatement, parameters: Mapping[str, Any] | None = None) -> int:
        """Run a constant and return the number of rows that it changed."""
        return self.run(statement, parameters).rowcount

    def run_once(
        self, statement: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> StatementResult:
        """Run a statement that is built for this run, or that runs seldom."""
        return run_once(self.connection, statement, parameters)

    def new_id(self) -> str:
        """Return a new ULID, greater than the ones before it."""
        return self.ids.next(self.now)

    def wake_at(self, moment: int) -> None:
        """Make the timer look at the queue at this time after the commit."""
        if self.next_due is None or moment < self.next_due:
            self.next_due = moment
