"""Who may speak to an engine, with keys and without."""

import hashlib
import http.client
import logging
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import inngest
import pytest

from engine.__main__ import main
from engine.formats.json_text import canonicalise, dumps
from engine.formats.signing import bearer_matches, sign_body, verify_signature
from tests.engine.app_server import AppServer
from tests.engine.clients import close_client
from tests.engine.conftest import ServeApp
from tests.engine.engine_process import EngineProcess

KEY = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
EVENT_KEY = "an-event-key"


@pytest.fixture(scope="module")
def keyed_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProcess]:
    url = f"sqlite:///{tmp_path_factory.mktemp('keyed') / 'engine.db'}"
    process = EngineProcess(url, "--signing-key", f"signkey-prod-{KEY}", "--event-key", EVENT_KEY).start()
    process.headers = {"authorization": f"Bearer {KEY}"}
    yield process
    process.close()


def make_keyed_client(engine: EngineProcess, signing_key: str = KEY) -> inngest.Inngest:
    return inngest.Inngest(
        app_id="keyed",
        api_base_url=engine.url,
        event_api_base_url=engine.url,
        event_key=EVENT_KEY,
        is_production=True,
        logger=logging.getLogger("tests.engine.app"),
        signing_key=f"signkey-prod-{signing_key}",
    )


def status_of(engine: EngineProcess, method: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=10)
    try:
        connection.request(method, path, body=b"{}" if method == "POST" else None, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.case("B62")
def test_ordinary_text_is_signed_both_ways(keyed_engine: EngineProcess, serve: ServeApp) -> None:
    # Given an app in production mode with the engine's key
    client = make_keyed_client(keyed_engine)

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event="keyed/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> object:
        return ctx.step.run("echo", lambda: dict(ctx.event.data))

    serve(keyed_engine, client, [fn])
    # When events with every kind of text and number come through the SDK
    data: dict[str, Any] = {
        "text": "Curaçao & crème 😀 <b>&amp;\u2028\ue000",
        "n": 9007199254740993,
        "f": 1.0,
        "e": 1e21,
        "k😀": 1,
        "k\ue000": 2,
    }
    (event_id,) = client.send_sync(inngest.Event(name="keyed/go", data=data))
    # Then the SDK takes the engine's signature, the engine takes the SDK's
    run = keyed_engine.ended_run(event_id)
    assert run["status"] == "Completed"
    assert run["output"] == data


def test_an_answer_without_the_right_signature_is_not_believed(keyed_engine: EngineProcess, serve: ServeApp) -> None:
    # Given an app that answers in dev mode, without signatures
    client = inngest.Inngest(app_id="unsigned", is_production=False, logger=logging.getLogger("tests.engine.app"))

    @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event="unsigned/go"), retries=0)
    def fn(ctx: inngest.ContextSync) -> str:
        return "forged"

    app = AppServer(client, [fn]).start()
    try:
        url = f"{app.url}?fnId=unsigned-fn&stepId=step"
        steps = {"step": {"retries": {"attempts": 0}, "runtime": {"url": url}}}
        function = {"id": "unsigned-fn", "triggers": [{"event": "unsigned/go"}], "steps": steps}
        body = {"appname": "unsigned", "functions": [function]}
        assert keyed_engine.request("POST", "/fn/register", body)["ok"] is True
        # When it is called, then its answer is refused and said to be unsigned
        (event_id,) = keyed_engine.send({"name": "unsigned/go"}, key=EVENT_KEY)
        run = keyed_engine.ended_run(event_id)
        assert run["status"] == "Failed"
        assert "not signed" in run["output"]["message"]
    finally:
        app.stop()
        close_client(client)


@pytest.mark.long
def test_keys_are_changed_through_the_fallback(
    tmp_path: Path, serve: ServeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an engine that signs with a new key and still knows the old one
    old, new = KEY, KEY[::-1]
    flags = ("--signing-key", new, "--signing-key-fallback", old, "--event-key", EVENT_KEY)
    engine = EngineProcess(f"sqlite:///{tmp_path / 'engine.db'}", *flags).start()
    engine.headers = {"authorization": f"Bearer {old}"}
    try:
        # When apps that know both, whichever they sign with, register, send and run
        for first, second in ((old, new), (new, old)):
            monkeypatch.setenv("INNGEST_SIGNING_KEY_FALLBACK", f"signkey-prod-{second}")
            client = inngest.Inngest(
                app_id=f"turning{first[:4]}",
                api_base_url=engine.url,
                event_api_base_url=engine.url,
                event_key=EVENT_KEY,
                is_production=True,
                logger=logging.getLogger("tests.engine.app"),
                signing_key=f"signkey-prod-{first}",
            )

            @client.create_function(fn_id="fn", trigger=inngest.TriggerEvent(event=f"{client.app_id}/go"), retries=0)
            def fn(ctx: inngest.ContextSync) -> str:
                return ctx.step.run("work", lambda: "done")

            serve(engine, client, [fn])
            (event_id,) = client.send_sync(inngest.Event(name=f"{client.app_id}/go"))
            # Then each side believes the other
            assert engine.ended_run(event_id)["output"] == "done"
    finally:
        engine.close()


@pytest.mark.parametrize("path", ["/v1/events", "/v2/runs", "/v0/runs/x/batch", "/v2/apps"])
def test_the_api_wants_the_key(keyed_engine: EngineProcess, path: str) -> None:
    for token in ("", "Bearer wrong", "Bearer é", f"Basic {KEY}", f"Bearer {KEY[:-2]}"):
        assert status_of(keyed_engine, "GET", path, {"authorization": token.encode().decode("latin-1")}) == 401
    hashed = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()
    for token in (KEY, hashed, f"signkey-prod-{KEY}", f"signkey-test-{hashed}"):
        assert status_of(keyed_engine, "GET", path, {"authorization": f"Bearer {token}"}) in {200, 410}


def test_events_and_registrations_want_their_keys(keyed_engine: EngineProcess) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        keyed_engine.request("POST", "/e/other", {"name": "keyed/x"})
    caught.value.close()
    assert caught.value.code == 401
    assert caught.value.headers["x-inngest-server-kind"] == "cloud"
    assert status_of(keyed_engine, "POST", "/fn/register", {}) == 401


def test_a_keyless_engine_takes_nothing_from_web_pages(engine: EngineProcess) -> None:
    ok = {"host": f"127.0.0.1:{engine.port}"}
    assert status_of(engine, "GET", "/v2/apps", ok) == 200
    for host in ("localhost", f"[::1]:{engine.port}", "0.0.0.0:1"):
        assert status_of(engine, "GET", "/v2/apps", {"host": host}) == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[", "localhost@evil.example"):
        assert status_of(engine, "GET", "/v2/apps", {"host": host}) in {400, 403}
    for origin in ("http://evil.example", "null", "http://127.0.0.1"):
        assert status_of(engine, "POST", "/e/key", {**ok, "origin": origin}) == 403


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--host", "0.0.0.0"], "engine: an engine without keys listens on loopback only"),
        (["--signing-key", "xyz"], "engine: the signing key must be hex"),
        (["--event-key", "k"], "engine: event keys need a signing key too"),
        (["--retention", "0"], "engine: the retention must be longer than nothing"),
    ],
)
def test_wrong_use_is_one_clear_line(capsys: pytest.CaptureFixture[str], flags: list[str], told: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(flags)
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(told)
    assert error.count("\n") == 1


@pytest.mark.case("B62")
def test_signatures_are_over_the_canonical_form() -> None:
    # Given a body whose canonical form differs from how it is sent
    text = dumps({"b": 1.0, "a": [1e21, 9007199254740993], "é": "\u2028"})
    assert canonicalise(text) == '{"a":[1e+21,9007199254740992],"b":1,"é":"\u2028"}'.encode()
    signature = sign_body(f"signkey-prod-{KEY}", canonicalise(text), 5)
    # Then it verifies under the key, and under the second of two, and for nothing else
    assert verify_signature([KEY], canonicalise(text), signature)
    assert verify_signature(["00", KEY], canonicalise(text), signature)
    assert not verify_signature([KEY], canonicalise(text) + b" ", signature)
    for bad in ("", "t=5", "s=é&t=5", signature.replace("t=5", "t=6")):
        assert not verify_signature([KEY], canonicalise(text), bad)
    assert not bearer_matches([KEY], "Bearer ")
