"""What `say --wait` says of a task that was there before, over prepared rows."""

from __future__ import annotations

from typing import Any

from app.cli.api import Api
from app.cli.follow import Progress
from runtime import messages
from runtime.tables import routes
from tests.web.site.pictures import poster
from tests.web.site.prepared import prepare
from tests.web.site.site import Site
from workspace import objects


def test_made_is_only_what_the_task_made_since_the_message_with_its_version(site: Site) -> None:
    # Given a task with two posters, half of its plan done, and an open card, that is spoken to
    made = prepare(site)
    message_id = site.say("Could the set be a touch warmer?", task_id=made.task_id)
    with site.writing() as scope:
        scope.insert(
            routes,
            message_id=message_id,
            level="explicit",
            outcome="existing",
            task_id=made.task_id,
            reasons=[],
            candidates=[],
            object_ids=[],
            created_at=scope.now,
        )
        messages.set_state(scope, message_id, "delivered", was=("received",), task_id=made.task_id)
    progress = Progress(Api(site.url, site.token), message_id)

    # When nothing has come of it yet, then nothing is said to be made or done, and it goes on
    assert progress.fresh() == [f"→ task {made.task_id}"]
    assert not progress.ended

    # When the task makes a new version of one, and a person one of the other
    warmer = site.parts.assets.put(poster("WARMER"))
    for work_id, maker in zip(made.pictures, (f"task:{made.task_id}", f"person:{site.person_id}"), strict=True):
        _on_top(site, work_id, warmer, maker)

    # Then the first is told, once
    title = site.get(f"/api/v1/objects/{made.pictures[0]}")["title"]
    assert progress.fresh() == [f"made {title} v2 ({made.pictures[0]})"]
    assert progress.fresh() == []


def _on_top(site: Site, work_id: str, asset: Any, maker: str) -> None:
    with site.writing() as scope:
        work = objects.get(scope, work_id)
        objects.add_version(
            scope,
            work_id,
            base_version=work.version,
            media_type=asset.media_type,
            size=asset.size,
            sha256=asset.sha256,
            created_by=maker,
            cause=f"warmer:{work_id}",
        )
