"""The database goes away during a transaction."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from core.llm.scripted_model import ScriptedModel, says
from core.tools import CallContext
from runtime.turns import ledger, ledger_queries
from tests.runtime.turn_driver import Note, drive_turn, new_task, newest_turn, post_words, runtime_dependencies
from tests.support.databases import Store

pytestmark = pytest.mark.postgres


@pytest.fixture
def server(postgres_url: str) -> sa.Engine:
    return sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT")


@pytest.mark.boundary(26)
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_database_that_is_away_at_the_commit_leaves_nothing_done(store: Store, server: sa.Engine) -> None:
    """The server ends every connection while a tool holds its transaction open; the step fails and is made again."""
    ran: list[str] = []

    def cut_off(call: CallContext) -> None:
        ran.append(call.call_id)
        if len(ran) > 1:
            return
        with call.transaction() as scope:
            ledger.store_original(scope, "kept by nobody", "a text")
            with server.connect() as other:
                end = (
                    "select count(pg_terminate_backend(pid)) from pg_stat_activity where datname = current_database() "
                )
                other.execute(sa.text(end + "and pid <> pg_backend_pid()"))

    task = new_task(store)
    post_words(store, task.id, "go")
    turn_id = newest_turn(store, task.id).id
    dependencies = runtime_dependencies(
        store, ScriptedModel(says("", ("note", "{}")), says("done")), Note(during=cut_off)
    )

    with pytest.raises(sa.exc.DBAPIError):
        drive_turn(dependencies, store, turn_id)
    with store.database.reading(store.workspace_id) as scope:
        assert ledger_queries.get_call(scope, f"{turn_id}:1:0").status == "started"
    with server.connect() as other:
        assert other.execute(sa.text("select count(*) from originals")).scalar() == 0

    assert drive_turn(dependencies, store, turn_id) == "completed"
    assert ran == [f"{turn_id}:1:0"] * 2
