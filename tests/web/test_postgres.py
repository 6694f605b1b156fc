"""The same answers from PostgreSQL."""

from __future__ import annotations

import threading

import pytest

from tests.web.site.site import Site
from tests.web.site.workspace_rows import insert_workspace_rows

pytestmark = pytest.mark.postgres


def test_everything_that_is_read_and_commanded(postgres_site: Site) -> None:
    # Given a workspace in the middle of its work
    site = postgres_site
    rows = insert_workspace_rows(site)

    # Then every list, thing and page is answered
    for path in (
        "/api/v1/thread",
        "/api/v1/thread?newest=1&limit=3",
        "/api/v1/thread?limit=2",
        "/api/v1/tasks?status=waiting,done",
        f"/api/v1/tasks/{rows.task_id}",
        f"/api/v1/turns/{rows.turn_id}",
        f"/api/v1/messages/{rows.message_id}",
        "/api/v1/cards?state=open",
        "/api/v1/objects?q=harbour",
        f"/api/v1/objects/{rows.film_id}/history",
        f"/api/v1/generations/{rows.order_id}",
        "/api/v1/budget",
        "/api/v1/keys",
        "/metrics",
        "/",
        f"/tasks/{rows.task_id}",
        f"/objects/{rows.document_id}",
        "/settings",
    ):
        assert site.client.get(path).status_code == 200, path

    # And lists go on where a page ended
    first = site.get("/api/v1/thread", limit="3")
    rest = site.get("/api/v1/thread", limit="50", after=first["next"])
    ids = [item["id"] for item in first["items"] + rest["items"]]
    assert len(ids) == len(set(ids)) == len(site.get("/api/v1/thread")["items"])

    # And a repeat that arrives at the same moment is one command
    seen: list[str] = []

    def send() -> None:
        seen.append(site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": "same"}).json()["message_id"])

    sending = [threading.Thread(target=send) for _ in range(5)]
    for one in sending:
        one.start()
    for one in sending:
        one.join(30)
    assert len(set(seen)) == 1
    assert site.post(f"/api/v1/tasks/{rows.task_id}/stop").json()["status"] == "stopped"
