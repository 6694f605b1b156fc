"""A notice leaves by its channel's webhook, once."""

from __future__ import annotations

import json

import pytest

from core.errors import UnavailableError
from core.events import NoticeRequested
from core.settings import load_settings
from functions.notify import send_notice
from runtime import notices
from tests.support.databases import Store
from tests.support.http_servers import Response, http_server


def told(store: Store, channel: str | None) -> NoticeRequested:
    with store.database.transaction(store.workspace_id) as scope:
        notices.store_notice(scope, "ops", "checkout is slow", f"cause:{channel}", channel=channel)
        notice = notices.list_newest_notices(scope)[-1]
    return NoticeRequested(workspace_id=store.workspace_id, notice_id=notice.id)


def test_each_channel_has_its_own_receiver(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with http_server() as common, http_server() as incidents:
        monkeypatch.setenv("LOOPWRIGHT_NOTIFY_WEBHOOK", f"{common.url}/all")
        monkeypatch.setenv("LOOPWRIGHT_NOTIFY_INCIDENTS", f"{incidents.url}/services/T0/B0/token")
        webhook_of = load_settings().webhook_of
        asked = told(store, "incidents")
        said = [send_notice(store.database, webhook_of, one) for one in (asked, asked, told(store, None))]

    assert said == ["sent", "sent before", "sent"]
    (one,) = incidents.requests
    assert one.path == "/services/T0/B0/token"
    body = json.loads(one.body)
    assert (body["text"], body["channel"]) == ("checkout is slow", "incidents")
    assert one.headers["idempotency-key"] == asked.notice_id
    assert [json.loads(one.body)["channel"] for one in common.requests] == ["ops"]


def test_a_receiver_that_fails_is_asked_again_and_its_address_is_not_told(store: Store) -> None:
    answers = [Response(500), Response(200)]
    with http_server(lambda _: answers.pop(0)) as slack:
        asked = told(store, "incidents")
        with pytest.raises(UnavailableError, match="the webhook of incidents answered 500") as caught:
            send_notice(store.database, lambda _: f"{slack.url}/token", asked)
        assert send_notice(store.database, lambda _: f"{slack.url}/token", asked) == "sent"

    assert "token" not in str(caught.value)


def test_without_a_receiver_it_stands_on_the_page(store: Store) -> None:
    assert send_notice(store.database, lambda _: "", told(store, "incidents")) == "shown"
