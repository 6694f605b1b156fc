"""Addresses and values that nobody sends by accident: each is answered, none breaks anything."""

from __future__ import annotations

import base64
import json

import pytest

from tests.web.site.site import Site


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "é",
        "====",
        packed([1, 2]),
        packed(["not a time", "x"]),
        packed(["0001-01-01T00:00:00+23:59", "x"]),
        packed(["2026-01-01T00:00:00+00:00", "a\0b"]),
        packed({"a": 1}),
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
    ],
)
def test_a_forged_cursor_is_refused(site: Site, cursor: str) -> None:
    for path in ("/api/v1/tasks", "/api/v1/cards"):
        assert site.client.get(path, params={"cursor": cursor}).status_code == 422
    assert site.client.get("/api/v1/thread", params={"after": cursor}).status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/tasks/%00",
        "/api/v1/objects?q=%00",
        "/api/v1/objects/x?version=0",
        "/api/v1/objects/x?version=99999999999999",
        "/api/v1/tasks?limit=0",
        "/api/v1/tasks?limit=-1",
        "/api/v1/tasks?limit=١",
        "/api/v1/tasks?status=odd",
        "/api/v1/cards?state=odd",
    ],
)
def test_a_strange_address_is_refused(site: Site, path: str) -> None:
    answer = site.client.get(path)

    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e30", "-1", "0.0000001", "ten", "1" * 400])
def test_a_strange_amount_is_refused(site: Site, amount: str) -> None:
    assert site.client.put("/api/v1/budget", json={"free_per_day": amount}).status_code == 422
    assert site.client.patch("/api/v1/tasks/x", json={"budget": amount}).status_code == 422
    assert site.client.patch("/api/v1/tasks/x", json={"budget": {"amount": amount}}).status_code == 422


def test_a_very_long_id_is_simply_not_there(site: Site) -> None:
    long = "x" * 4000

    for path in (f"/api/v1/tasks/{long}", f"/api/v1/objects/{long}", f"/api/v1/generations/{long}", f"/tasks/{long}"):
        answer = site.client.get(path)
        assert answer.status_code == 404
        assert len(answer.content) < 6000


@pytest.mark.parametrize("key", ["", "x" * 161, "a\tb"])
def test_an_idempotency_key_that_is_none_is_refused(site: Site, key: str) -> None:
    answer = site.post("/api/v1/messages", {"text": "hi"}, **{"Idempotency-Key": key})

    assert answer.status_code == 422
    assert site.get("/api/v1/thread")["items"] == []
