"""One atomic piece of work on the engine's database, and what it sets off once it is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, CursorResult, Executable

from engine.event import EngineEvent
from engine.formats.ids import Ulids
from engine.rows import Row
from engine.settings import EngineSettings
from engine.statement import Found, Parameters, Statement
from engine.storage.registry import Registry


@dataclass(frozen=True)
class AppCall:
    """A claimed item that is to be carried out over HTTP, with all that its request says."""

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
    """Hashed step id and memo, in the order of the stack."""
    limited: bool
    """Whether it holds slots."""
    batched: bool
    """Whether the run may have more than one event."""
    body: str | None = None


@dataclass(frozen=True)
class KnownRun:
    """A run's row as this transaction read it, and what the transaction changed in it since."""

    row: Row
    plan_only: bool
    state_size: int


@dataclass
class Transaction:
    """`calls` and `next_due` are acted on after the commit, and only then."""

    connection: Connection
    now: int
    owner: str
    registry: Registry
    settings: EngineSettings
    ids: Ulids
    outbox: list[EngineEvent] = field(default_factory=list)
    """Events to be delivered before this transaction ends."""
    calls: list[AppCall] = field(default_factory=list)
    next_due: int | None = None
    known_runs: dict[str, KnownRun] = field(default_factory=dict)
    known_stacks: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Stacks of runs that this transaction holds, whole: they only ever grow, and only with the run held."""
    ended: list[str] = field(default_factory=list)
    """Runs that this transaction ended."""
    puts: int = 0
    """Items that were added."""
    held_back: bool = False
    """Whoever handed the operation in sends the calls on their way."""

    def run(
        self, statement: Statement | Executable, parameters: Parameters | Sequence[Parameters] | None = None
    ) -> Found | CursorResult[Any]:
        if isinstance(statement, Statement):
            assert parameters is None or isinstance(parameters, Mapping)
            return statement.execute(self.connection, parameters or {})
        result = self.connection.execute(statement, parameters)
        assert isinstance(result, CursorResult)
        return result

    def later(self, statement: Statement, parameters: Parameters | None = None) -> None:
        """Run a statement whose answer nobody needs: PostgreSQL gets it with the next one, or with the commit."""
        statement.execute(self.connection, parameters or {}, later=True)

    def changed(self, statement: Statement | Executable, parameters: Parameters | None = None) -> int:
        """Rows that the statement changed."""
        return self.run(statement, parameters).rowcount

    def new_id(self) -> str:
        return self.ids.next(self.now)

    def due(self, moment: int) -> None:
        """Something waits for this moment."""
        if self.next_due is None or moment < self.next_due:
            self.next_due = moment
