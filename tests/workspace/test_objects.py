"""Objects: once for each cause, and only on top of the version the writer knew."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from core.clock import StoppedClock
from core.database import Database, Scope
from core.errors import ConflictError, InvalidError, NotFoundError
from tests.workspace.conftest import HOME, OTHER
from workspace import objects
from workspace.objects import Object

SHA = "a" * 64


def make(scope: Scope, title: str = "Storyboard", cause: str = "call_1", kind: str = "document") -> Object:
    return objects.create_object(
        scope,
        kind=kind,
        title=title,
        media_type="text/markdown",
        size=3,
        sha256=SHA,
        created_by="person:ann",
        cause=cause,
    )


def put_on_top(
    scope: Scope, object_id: str, base_version: int, cause: str, sha256: str = "b" * 64, task_id: str | None = None
) -> Object:
    return objects.add_version(
        scope,
        object_id,
        base_version=base_version,
        media_type="text/markdown",
        size=4,
        sha256=sha256,
        created_by="person:ann",
        cause=cause,
        task_id=task_id,
    )


def test_a_new_object_has_one_version_and_is_found(database: Database) -> None:
    with database.transaction(HOME) as scope:
        made = make(scope)
    with database.reading(HOME) as scope:
        found = objects.get_object(scope, made.id)
    assert found == made
    assert (found.version, found.current_version, found.title, found.sha256) == (1, 1, "Storyboard", SHA)


def test_the_same_cause_makes_one_object(database: Database) -> None:
    with database.transaction(HOME) as scope:
        first = make(scope)
    with database.transaction(HOME) as scope:
        again = make(scope, title="Another title")
    assert again == first
    with database.reading(HOME) as scope:
        assert [work.id for work in objects.list_objects(scope).items] == [first.id]


def test_a_replayed_write_answers_the_version_it_made(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
        second = put_on_top(scope, work.id, 1, "call_2")
        put_on_top(scope, work.id, 2, "call_3")
    with database.transaction(HOME) as scope:
        replayed = put_on_top(scope, work.id, 1, "call_2")
    assert (replayed.version, replayed.current_version, replayed.sha256) == (2, 3, second.sha256)
    with database.reading(HOME) as scope:
        assert [v.version for v in objects.list_versions(scope, work.id)] == [3, 2, 1]
        assert [v.base_version for v in objects.list_versions(scope, work.id)] == [2, 1, 0]


def test_a_write_on_an_old_version_is_refused_and_told_the_current_one(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
        put_on_top(scope, work.id, 1, "call_2")
    with database.transaction(HOME) as scope, pytest.raises(ConflictError, match="version 2, not 1") as refused:
        put_on_top(scope, work.id, 1, "call_3")
    assert refused.value.facts() == {"current_version": 2}
    with database.reading(HOME) as scope:
        assert objects.get_object(scope, work.id).version == 2


def race(database: Database, writes: list[Callable[[Scope], Object]]) -> list[Object | ConflictError]:
    start = Barrier(len(writes))

    def one(write: Callable[[Scope], Object]) -> Object | ConflictError:
        start.wait(timeout=20)
        try:
            with database.transaction(HOME) as scope:
                return write(scope)
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(len(writes)) as threads:
        return list(threads.map(one, writes))


def test_of_two_writers_on_one_version_exactly_one_wins(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
    for base in range(1, 6):

        def write(scope: Scope, name: str, base: int = base) -> Object:
            return put_on_top(scope, work.id, base, f"{name}_{base}")

        outcomes = race(database, [lambda scope: write(scope, "ann"), lambda scope: write(scope, "bob")])
        lost = [outcome for outcome in outcomes if isinstance(outcome, ConflictError)]
        assert len(lost) == 1
        assert lost[0].facts() == {"current_version": base + 1}
    with database.reading(HOME) as scope:
        assert objects.get_object(scope, work.id).version == 6


def test_two_executions_of_one_call_make_one_version(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
    outcomes = race(database, [lambda scope: put_on_top(scope, work.id, 1, "call_2")] * 2)
    assert outcomes[0] == outcomes[1]
    with database.reading(HOME) as scope:
        assert len(objects.list_versions(scope, work.id)) == 2


def test_two_executions_of_one_call_make_one_object(database: Database) -> None:
    outcomes = race(database, [make, make])
    assert outcomes[0] == outcomes[1]


def test_another_workspace_sees_nothing(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
    with database.transaction(OTHER) as scope:
        for ask in (objects.get_object, objects.list_versions):
            with pytest.raises(NotFoundError):
                ask(scope, work.id)
        with pytest.raises(NotFoundError):
            put_on_top(scope, work.id, 1, "call_2")
        with pytest.raises(NotFoundError):
            objects.delete_object(scope, work.id, version=1)
        with pytest.raises(NotFoundError):
            objects.version_holding(scope, SHA)
        assert objects.list_objects(scope).items == ()
        assert objects.object_made_by(scope, "call_1") is None


def test_a_deleted_object_is_out_of_sight_and_takes_no_version(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
        assert objects.delete_object(scope, work.id, version=7) is False
        assert objects.delete_object(scope, work.id, version=1) is True
        assert objects.delete_object(scope, work.id, version=1) is True
    with database.transaction(HOME) as scope:
        with pytest.raises(NotFoundError, match="was deleted at 2026"):
            objects.get_object(scope, work.id)
        with pytest.raises(NotFoundError, match="was deleted"):
            put_on_top(scope, work.id, 1, "call_2")
        assert objects.list_objects(scope).items == ()


def test_every_write_is_a_change_of_the_object(database: Database) -> None:
    with database.transaction(HOME) as scope:
        work = make(scope)
    with database.transaction(HOME) as scope:
        put_on_top(scope, work.id, 1, "call_2")
    with database.transaction(HOME) as scope:
        put_on_top(scope, work.id, 1, "call_2")
    with database.transaction(HOME) as scope:
        objects.delete_object(scope, work.id, version=2)
    with database.unscoped() as connection:
        entries = connection.exec_driver_sql("select kind, id from changes order by seq").all()
    assert [tuple(entry) for entry in entries] == [("object", work.id)] * 3


def test_pages_give_every_object_once_newest_first(database: Database, clock: StoppedClock) -> None:
    made = []
    for n in range(7):
        clock.advance(timedelta(seconds=n % 2))
        with database.transaction(HOME) as scope:
            made.append(make(scope, title=f"Poster {n}", cause=f"call_{n}").id)
    read: list[str] = []
    cursor = None
    while True:
        with database.transaction(HOME) as scope:
            page = objects.list_objects(scope, limit=2, cursor=cursor)
            # A newcomer and a write to what was read disturb no page that follows.
            make(scope, title="Late", cause=f"late_{cursor}")
            put_on_top(scope, page.items[0].id, 1, f"again_{cursor}")
        read += [work.id for work in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert sorted(read) == sorted(made)
    assert len(set(read)) == 7


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("poster", ["Poster 100%"]),
        ("100%", ["Poster 100%"]),
        ("%", ["Poster 100%"]),
        ("_", []),
        ("100 POSTER", ["Poster 100%"]),
        ("афиша", ["Афиша"]),
        ("' or 1=1 --", []),
        ("  ", ["Афиша", "Poster 100%"]),
    ],
)
def test_a_query_is_words_of_the_title(database: Database, query: str, found: list[str]) -> None:
    with database.transaction(HOME) as scope:
        make(scope, title="Poster 100%", cause="1")
    with database.transaction(HOME) as scope:
        make(scope, title="Афиша", cause="2")
        assert sorted(work.title for work in objects.list_objects(scope, query=query).items) == sorted(found)


def test_a_page_that_cannot_be_is_refused(database: Database) -> None:
    with database.reading(HOME) as scope:
        for limit in (0, -1, 201):
            with pytest.raises(InvalidError):
                objects.list_objects(scope, limit=limit)
        with pytest.raises(InvalidError):
            objects.list_objects(scope, cursor="object_elsewhere")


@pytest.mark.parametrize(
    ("hostile", "kept"),
    [
        ("a\x00b\x1b[31m\nc", "a b [31m c"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("'; drop table objects; --", "'; drop table objects; --"),
        ("\ud800 lone", "lone"),
        ("پوستر جشنواره 👩‍👧", "پوستر جشنواره 👩‍👧"),
        ("x" * 300, "x" * 300),
    ],
)
def test_a_hostile_title_is_one_plain_line(database: Database, hostile: str, kept: str) -> None:
    with database.transaction(HOME) as scope:
        made = make(scope, title=hostile)
    with database.reading(HOME) as scope:
        assert objects.get_object(scope, made.id).title == kept


@pytest.mark.parametrize("title", ["", " \n\t", "\x00", "x" * 301])
def test_no_title_or_an_endless_one_is_refused(database: Database, title: str) -> None:
    with database.transaction(HOME) as scope, pytest.raises(InvalidError):
        make(scope, title=title)


def test_an_unknown_kind_is_refused(database: Database) -> None:
    with database.transaction(HOME) as scope, pytest.raises(InvalidError, match="document, image"):
        make(scope, kind="spreadsheet")


@pytest.mark.parametrize("hostile", ["", "\0", "object_1\0", "\ud800", "é", "x" * 100_000, "../..", "%"])
def test_a_hostile_id_is_just_not_found(database: Database, hostile: str) -> None:
    with database.transaction(HOME) as scope:
        for ask in (objects.get_object, objects.list_versions, objects.version_holding):
            with pytest.raises(NotFoundError):
                ask(scope, hostile)
        with pytest.raises(NotFoundError):
            put_on_top(scope, hostile, 1, "call_2")
        with pytest.raises(NotFoundError):
            objects.delete_object(scope, hostile, version=1)
        with pytest.raises(NotFoundError):
            objects.link_object(scope, hostile, "task_1")
        with pytest.raises(InvalidError):
            objects.list_objects(scope, cursor=hostile)
        assert objects.objects_by_ids(scope, [hostile]) == {}
        assert objects.list_objects(scope, query=hostile).items == ()
