"""The engine's database: SQLite with one owner, or PostgreSQL."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from engine.storage.tables import marks, metadata, runs

T = TypeVar("T")

SCHEMA = 1
"""The number of the schema, raised with every change of the tables that an older engine could not work with."""
_SCHEMA_MARK = "schema"


class DatabaseError(Exception):
    """The database cannot be used; the message is one line for the person who started the engine."""


class EngineDatabase:
    """Connections to one database, given by its URL.

    A SQLite file belongs to one engine process at a time, which holds a lock on `<file>.lock` until it ends.

    Raises:
        DatabaseError: the file cannot be written, or another process is using it.
    """

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        if parsed.drivername in {"postgresql", "postgres"}:
            parsed = parsed.set(drivername="postgresql+psycopg2")
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self._lock: TextIO | None = None
        if self.is_sqlite:
            if not parsed.database or parsed.database == ":memory:":
                raise DatabaseError("the engine's database must be a file or a PostgreSQL server, not in memory")
            self._lock = _lock_file(Path(parsed.database))
            self.engine: Engine = create_engine(parsed, poolclass=NullPool, connect_args={"timeout": 30})
            event.listen(self.engine, "connect", _prepare_sqlite)
        else:
            # Loads the PostgreSQL driver, which SQLite does not need.
            from core.sql.postgres_session import PostgresSession  # noqa: PLC0415

            own = {"connection_factory": PostgresSession}
            self.engine = create_engine(
                parsed, poolclass=QueuePool, pool_size=5, pool_pre_ping=True, connect_args=own, use_native_hstore=False
            )

    def create_tables(self) -> None:
        """Create missing tables and indexes: all in a new database, else those that an older engine lacked.

        Raises:
            DatabaseError: the database does not answer, or its schema has another number.
        """
        try:
            with self.engine.begin() as connection:
                if not self.is_sqlite:
                    # When several engines start at the same time, one creates the tables.
                    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('engine_tables'))"))
                found = _read_schema(connection)
                if found is None:
                    metadata.create_all(connection)
                    connection.execute(insert(marks), {"name": _SCHEMA_MARK, "value": SCHEMA})
                elif found != SCHEMA:
                    where = self.engine.url.render_as_string()
                    raise DatabaseError(
                        f"the engine's database {where} has schema {found} and this engine needs {SCHEMA}; "
                        "use the engine version that made it, or another database"
                    )
                else:
                    metadata.create_all(connection)
                    for table in metadata.sorted_tables:
                        for index in table.indexes:
                            index.create(connection, checkfirst=True)
        except SQLAlchemyError as error:
            reason = str(error).splitlines()[0]
            raise DatabaseError(f"cannot use the engine's database {self.engine.url!r}: {reason}") from error

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query on a separate connection, in any thread but the writer's."""
        with self.engine.connect() as connection:
            return query(connection)

    def close(self) -> None:
        """Close all connections and release the file."""
        self.engine.dispose()
        if self._lock is not None:
            self._lock.close()


def _read_schema(connection: Connection) -> int | None:
    """Return the schema number of the existing tables, 0 if they have none, None if there are no tables."""
    if not inspect(connection).has_table(runs.name):
        return None
    return connection.execute(select(marks.c.value).where(marks.c.name == _SCHEMA_MARK)).scalar() or 0


def _lock_file(path: Path) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = Path(f"{path}.lock").open("a+")  # noqa: SIM115 — held for the life of the process
    except OSError as error:
        raise DatabaseError(f"cannot write the engine's database {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise DatabaseError(f"another engine process is using {path}; stop it or choose another database") from None
    os.set_inheritable(lock.fileno(), False)
    return lock


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None
    cursor = connection.cursor()
    # WAL with NORMAL survives the death of the process at any moment; only a power cut may lose the last commits.
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "wal_autocheckpoint=4000",
        "cache_size=-16384",
        "mmap_size=268435456",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
