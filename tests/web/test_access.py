"""Who is let in, and how far."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import httpx
import pytest
import sqlalchemy as sa

from core import identity
from core.tables import persons, roles, workspaces
from runtime.tasks import tasks
from tests.web.site.site import Site

OPEN = {
    "/healthz",
    "/readyz",
    "/sign-in",
    "/static/<path:filename>",
    "/api/v1/generations/callbacks/<provider>",
    "/api/v1/assets/<sha256>",
}


@pytest.fixture
def stranger(site: Site) -> Iterator[httpx.Client]:
    """Somebody without a key."""
    with httpx.Client(base_url=site.url, trust_env=False, follow_redirects=False) as client:
        yield client


def new_key(site: Site, scopes: Collection[str], *, role: str | None = None, speaks_as: str = "person") -> str:
    """A key of the local person, or of a new person with that role."""
    person_id = site.person_id
    if role is not None:
        person_id = f"person_{role}"
        with site.dependencies.database.unscoped() as connection:
            connection.execute(
                sa.insert(persons).values(id=person_id, name=role, created_at=site.dependencies.clock.now())
            )
            connection.execute(sa.insert(roles).values(workspace_id=site.workspace_id, person_id=person_id, role=role))
    raw = identity.new_raw_key()
    with site.writing() as scope:
        identity.create_key(scope, person_id=person_id, name="test", scopes=scopes, speaks_as=speaks_as, raw=raw)
    return raw


def bearer(raw: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {raw}"}


def test_every_route_asks_for_a_key(site: Site, stranger: httpx.Client) -> None:
    # Given every route the process has
    asked = 0
    for rule in site.app.url_map.iter_rules():
        if rule.rule in OPEN:
            continue
        path = re.sub(r"<[^>]+>", "x", rule.rule)
        for method in sorted((rule.methods or set()) - {"OPTIONS", "HEAD"}):
            # When it is called without a key, with a wrong one, and with something that is no key
            for headers in ({}, bearer("wrong"), {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}):
                answer = stranger.request(method, path, headers=headers)

                # Then it is refused before anything else is looked at
                assert answer.status_code == 401, f"{method} {rule.rule} with {headers}: {answer.status_code}"
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                assert answer.json()["detail"]
                asked += 1
    assert asked > 100


def test_what_is_open_says_no_more_than_it_must(site: Site, stranger: httpx.Client) -> None:
    assert stranger.get("/healthz").json() == {"status": "ok"}
    assert stranger.get("/readyz").json() == {"status": "ok"}
    assert stranger.get("/api/v1/assets/abc").status_code == 403
    assert stranger.post("/api/v1/generations/callbacks/nobody").status_code == 404


def test_scopes_and_roles_both_limit(site: Site, stranger: httpx.Client) -> None:
    # Given a key that only reads, and a viewer's key with every scope
    reading = bearer(new_key(site, ["read"]))
    viewing = bearer(new_key(site, identity.SCOPES, role="viewer"))
    member = bearer(new_key(site, identity.SCOPES, role="member"))

    # Then both read and neither writes, and only an owner administers
    for headers in (reading, viewing):
        assert stranger.get("/api/v1/tasks", headers=headers).status_code == 200
        for method, path in (
            ("POST", "/api/v1/messages"),
            ("POST", "/api/v1/cards/x/answer"),
            ("PUT", "/api/v1/budget"),
        ):
            answer = stranger.request(method, path, headers=headers, json={})
            assert answer.status_code == 403, f"{method} {path}"
            assert "owner" in answer.json()["detail"]
    assert stranger.post("/api/v1/messages", headers=member, json={"text": "hi"}).status_code == 202
    assert stranger.get("/api/v1/keys", headers=member).status_code == 403
    assert site.get("/api/v1/keys")["items"]


def test_a_revoked_key_stops_working_at_once(site: Site, stranger: httpx.Client) -> None:
    # Given a key that was made over the API, shown once, and kept as a hash only
    response = site.post("/api/v1/keys", {"name": "ci", "scopes": ["read"], "speaks_as": "program"})
    assert response.status_code == 201
    raw = response.json()["key"]
    assert stranger.get("/api/v1/tasks", headers=bearer(raw)).status_code == 200
    assert raw not in site.client.get("/api/v1/keys").text

    # When it is revoked
    site.client.delete(f"/api/v1/keys/{response.json()['id']}")

    # Then it is worth nothing
    assert stranger.get("/api/v1/tasks", headers=bearer(raw)).status_code == 401


def test_a_program_speaks_as_one(site: Site, stranger: httpx.Client) -> None:
    headers = bearer(new_key(site, ["read", "write"], speaks_as="program"))

    message_id = stranger.post("/api/v1/messages", headers=headers, json={"text": "hi"}).json()["message_id"]

    assert site.get(f"/api/v1/messages/{message_id}")["asked_by"] == "program"


def test_another_workspace_is_not_there(site: Site) -> None:
    # Given a task of another workspace
    with site.dependencies.database.unscoped() as connection:
        connection.execute(
            sa.insert(workspaces).values(
                id="ws_other", name="Other", timezone="UTC", change_seq=0, created_at=site.dependencies.clock.now()
            )
        )
    with site.dependencies.database.transaction("ws_other") as scope:
        task = tasks.create_task(
            scope, kind="light", goal="secret", language="en", person_id="p", asked_by="person", cause="c"
        )

    # Then its id leads nowhere, and lists do not show it
    for answer in (
        site.client.get(f"/api/v1/tasks/{task.id}"),
        site.post(f"/api/v1/tasks/{task.id}/stop"),
        site.post("/api/v1/messages", {"text": "hi", "task_id": task.id}),
        site.client.get(f"/tasks/{task.id}"),
    ):
        assert answer.status_code == 404
    assert site.get("/api/v1/tasks")["items"] == []


def test_the_printed_address_becomes_a_session(site: Site, stranger: httpx.Client) -> None:
    # When the address is opened
    answer = stranger.get("/", params={"token": site.token})

    # Then the token is gone from it, and what remains is a strict cookie
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert site.token not in answer.text + cookie
    page = stranger.get("/")
    assert page.status_code == 200
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self';")
    assert site.token not in page.text


def test_a_wrong_token_opens_nothing(site: Site, stranger: httpx.Client) -> None:
    answer = stranger.get("/", params={"token": "wrong"}, headers={"Accept": "text/html"})

    assert answer.status_code == 401
    assert "unknown or revoked" in answer.text
    assert "Set-Cookie" not in answer.headers


def test_a_session_changes_nothing_without_the_pages_token(site: Site, stranger: httpx.Client) -> None:
    # Given a session
    stranger.get("/", params={"token": site.token})
    found = re.search(r'<meta name="csrf" content="([^"]+)">', stranger.get("/").text)
    assert found

    # When it posts without, with a wrong, and with the right token
    plain = stranger.post("/api/v1/messages", json={"text": "hi"})
    wrong = stranger.post("/api/v1/messages", json={"text": "hi"}, headers={"X-CSRF-Token": "wrong"})
    right = stranger.post("/api/v1/messages", json={"text": "hi"}, headers={"X-CSRF-Token": found[1]})

    # Then only the page's own request counts
    assert [answer.status_code for answer in (plain, wrong, right)] == [403, 403, 202]


def test_a_session_ends_with_its_key_and_by_signing_out(site: Site, stranger: httpx.Client) -> None:
    # Given a session under a key of its own
    raw = new_key(site, ["read"])
    stranger.post("/sign-in", data={"token": raw})
    page = stranger.get("/settings")
    assert page.status_code == 200

    # When the key is revoked
    speaker = identity.find_key(site.dependencies.database, raw)
    assert speaker
    site.client.delete(f"/api/v1/keys/{speaker.key_id}")

    # Then the session is over
    assert stranger.get("/settings").status_code == 401

    # And who signs out is out
    stranger.post("/sign-in", data={"token": site.token})
    found = re.search(r'name="csrf" value="([^"]+)"', stranger.get("/settings").text)
    assert found
    assert stranger.post("/sign-out", data={"csrf": found[1]}).status_code == 303
    assert stranger.get("/settings").status_code == 401


def test_a_form_elsewhere_cannot_sign_anybody_in(site: Site, stranger: httpx.Client) -> None:
    answer = stranger.post("/sign-in", data={"token": site.token}, headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
