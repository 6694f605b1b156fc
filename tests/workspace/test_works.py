"""Filing what was made elsewhere: once, on top of what it was made for or beside it."""

from __future__ import annotations

import pytest

from core.database import Database, Scope
from core.errors import NotFoundError
from tests.workspace.conftest import HOME
from workspace import objects
from workspace.assets import Asset
from workspace.objects import Object
from workspace.state import objects_state
from workspace.works import file_output


def filed(
    scope: Scope,
    cause: str,
    *,
    object_id: str | None = None,
    base_version: int | None = None,
    kind: str = "image",
    title: str = "Poster",
) -> Object:
    return file_output(
        scope,
        kind=kind,
        title=title,
        asset=Asset(f"{sum(cause.encode()):064x}", 10, "image/png"),
        task_id="task_1",
        cause=cause,
        recipe={"prompt": "navy and cream"},
        object_id=object_id,
        base_version=base_version,
    )


def test_an_output_is_filed_once_and_the_task_knows_it(database: Database) -> None:
    with database.transaction(HOME) as scope:
        first = filed(scope, "order_1:0")
    with database.transaction(HOME) as scope:
        assert filed(scope, "order_1:0", title="other") == first
        assert filed(scope, "order_1:1").id != first.id
        assert len(objects.list_objects(scope).items) == 2
        assert objects_state(scope, "task_1")["changes"] == []
    assert (first.version, first.stale, first.task_ids, first.created_by) == (1, False, ("task_1",), "task:task_1")
    assert first.recipe == {"prompt": "navy and cream"}


def test_an_output_for_an_object_is_its_next_version(database: Database) -> None:
    with database.transaction(HOME) as scope:
        poster = filed(scope, "order_1:0")
        warmer = filed(scope, "order_2:0", object_id=poster.id, base_version=1)
        assert (warmer.id, warmer.version, warmer.stale) == (poster.id, 2, False)
        assert filed(scope, "order_2:0", object_id=poster.id, base_version=1) == warmer
        assert objects.seen_version(scope, poster.id, "task_1") == 2
        assert objects.get_object(scope, poster.id, 1).sha256 == poster.sha256


def test_a_late_output_is_kept_as_stale_and_placed_nowhere(database: Database) -> None:
    with database.transaction(HOME) as scope:
        poster = filed(scope, "order_1:0")
        filed(scope, "order_2:0", object_id=poster.id, base_version=1)
    with database.transaction(HOME) as scope:
        late = filed(scope, "order_3:0", object_id=poster.id, base_version=1)
    with database.transaction(HOME) as scope:
        assert filed(scope, "order_3:0", object_id=poster.id, base_version=1) == late
        assert objects.get_object(scope, poster.id).version == 2
    assert late.id != poster.id
    assert late.stale
    assert late.recipe["made_for"] == {"object_id": poster.id, "version": 1}


def test_an_output_for_what_is_deleted_or_of_another_kind_is_kept_too(database: Database) -> None:
    with database.transaction(HOME) as scope:
        poster = filed(scope, "order_1:0")
        film = filed(scope, "order_2:0", kind="video", object_id=poster.id, base_version=1)
        objects.delete_object(scope, poster.id, version=1)
        again = filed(scope, "order_3:0", object_id=poster.id, base_version=1)
        nowhere = filed(scope, "order_4:0", object_id="object_nowhere", base_version=1)
        assert len({poster.id, film.id, again.id, nowhere.id}) == 4
        assert film.kind == "video"
        with pytest.raises(NotFoundError):
            objects.get_object(scope, poster.id)


@pytest.mark.parametrize(("title", "kept"), [("", "image"), ("\0\n", "image"), ("x" * 5000, "x" * 300)])
def test_a_paid_output_is_filed_under_any_title(database: Database, title: str, kept: str) -> None:
    with database.transaction(HOME) as scope:
        assert filed(scope, "order_1:0", title=title).title == kept
