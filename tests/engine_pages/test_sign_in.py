"""A keyed engine's pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.engine_process import EngineProcess
from tests.engine_pages.visitor import Visitor

KEY = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
OLD_KEY = "ff" * 32
EVENT_KEY = "an-event-key"


def keyed(folder: Path, key: str, *flags: str) -> EngineProcess:
    engine = EngineProcess(f"sqlite:///{folder / 'engine.db'}", "--signing-key", key, "--event-key", EVENT_KEY, *flags)
    engine.headers = {"authorization": f"Bearer {key}"}
    return engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    process = keyed(tmp_path, KEY, "--test-clock").start()
    yield process
    process.close()


@pytest.fixture
def visitor(engine: EngineProcess) -> Iterator[Visitor]:
    someone = Visitor(engine)
    yield someone
    someone.close()


def test_nothing_is_shown_without_a_session(visitor: Visitor) -> None:
    for path in ("/ui", "/ui/runs", "/ui/events/x/body.txt", "/ui/functions", "/ui/nothing"):
        answer = visitor.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/sign-in?next=%2Fui")
        assert answer.text == ""
    assert visitor.client.post("/ui/events", json={"name": "a/b"}).status_code == 401
    # The API's own key opens the API, not the pages
    assert visitor.get("/ui/runs", Authorization=f"Bearer {KEY}").status_code == 303
    page = visitor.text("/ui/sign-in")
    assert 'name="engine-token" content=""' in page
    assert "Functions" not in page


def test_the_signing_key_opens_the_pages_for_a_while(engine: EngineProcess, visitor: Visitor) -> None:
    # Given wrong keys, which open nothing
    for wrong in ("", "é", KEY[:-2], EVENT_KEY):
        answer = visitor.sign_in(wrong)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert (
        visitor.client.post("/ui/sign-in", data={"key": KEY}, headers={"Origin": "http://x.example"}).status_code == 403
    )
    # When the right one is shown
    answer = visitor.sign_in(f" signkey-prod-{KEY} ", "/ui/runs?status=FAILED")
    # Then the browser keeps a session that scripts cannot read and other sites cannot use
    assert answer.status_code == 303
    assert answer.headers["location"] == "/ui/runs?status=FAILED"
    cookie = answer.headers["set-cookie"]
    assert all(told in cookie for told in ("HttpOnly", "SameSite=Strict", "Path=/ui", "Max-Age=43200"))
    assert KEY not in cookie
    assert "No runs" in visitor.words("/ui/runs")
    assert visitor.press("/ui/events", {"name": "a/b", "data": {}}).status_code == 200
    # But the session opens no API
    assert visitor.get("/v2/runs").status_code == 401
    # And it ends by itself
    engine.request("POST", "/test/clock", {"advance": "12h"})
    assert visitor.get("/ui/runs").status_code == 303


def test_a_session_cannot_be_made_up(engine: EngineProcess, visitor: Visitor) -> None:
    visitor.sign_in(KEY)
    cookie, token = next(iter(visitor.client.cookies.values())), visitor.token()
    (name,) = visitor.client.cookies
    ends, nonce, seal = cookie.split(".")
    later = f"{int(ends) + 1}.{nonce}.{seal}"
    for forged in (later, f"{ends}.{nonce}.", f".{seal}", "x", f"x.{nonce}.{seal}", f"{ends}.{nonce}.{seal[:-1]}é"):
        stranger = Visitor(engine)
        answer = stranger.client.get("/ui/runs", headers=[(b"cookie", f"{name}={forged}".encode())])
        assert answer.status_code == 303, forged
        stranger.close()
    # And one session's token is worth nothing in another
    other = Visitor(engine)
    other.sign_in(KEY)
    assert other.client.post("/ui/events", json={"name": "a/b"}, headers={"X-Engine-Token": token}).status_code == 403
    other.close()


def test_signing_in_leads_nowhere_else(visitor: Visitor) -> None:
    for onward in (
        "//evil.example",
        "https://evil.example/ui",
        "/\\evil.example",
        "/v2/runs",
        "javascript:alert(1)",
        "/uix",
        "[",
        "/ui/\n",
        "/ui/é",
    ):
        assert visitor.sign_in(KEY, onward).headers["location"] == "/ui", onward


def test_signing_out(visitor: Visitor) -> None:
    visitor.sign_in(KEY)
    assert visitor.press("/ui/sign-out").json() == {"goto": "/ui/sign-in"}
    assert not visitor.client.cookies
    assert visitor.get("/ui").status_code == 303


@pytest.mark.long
def test_a_session_outlives_a_restart_and_a_change_of_keys(tmp_path: Path) -> None:
    # Given a session under the old key
    engine = keyed(tmp_path, OLD_KEY).start()
    visitor = Visitor(engine)
    visitor.sign_in(OLD_KEY)
    cookies = dict(visitor.client.cookies)
    visitor.close()
    engine.close()
    # When the engine starts again with a new key and the old one as its fallback
    engine = keyed(tmp_path, KEY, "--signing-key-fallback", OLD_KEY).start()
    visitor = Visitor(engine)
    visitor.client.cookies.update(cookies)
    # Then the session is still open
    try:
        assert "No runs" in visitor.words("/ui/runs")
        assert visitor.press("/ui/events", {"name": "a/b", "data": {}}).status_code == 200
    finally:
        visitor.close()
        engine.close()
