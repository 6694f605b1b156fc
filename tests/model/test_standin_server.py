"""The stand-in as a server: door, log, strictness, streaming."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from core.errors import ModelError
from tests.model.standin import request_log, running_standin, standin_client

HELLO = {"model": "standin-1", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with running_standin(tmp_path) as address:
        yield address


def ask(url: str, messages: object, **more: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/chat/completions", json={"model": "m", "messages": messages, **more})


def test_it_says_what_it_is(url: str) -> None:
    assert "offline stand-in" in httpx.get(url).text
    assert "offline stand-in" in ask(url, HELLO["messages"]).json()["model"]
    assert httpx.get(f"{url}/v1/models").json()["data"][0]["id"] == "standin-1"
    assert httpx.get(f"{url}/healthz").json() == {"ok": True}


def test_the_log_is_oldest_first_and_outlives_the_process(tmp_path: Path) -> None:
    with running_standin(tmp_path) as first:
        ask(first, [{"role": "user", "content": "hello"}])
    with running_standin(tmp_path) as second:
        ask(second, [{"role": "user", "content": "thanks"}])
        items = request_log(second)
    assert [one["request"]["messages"][0]["content"] for one in items] == ["hello", "thanks"]
    assert all(one["answer"]["choices"] and one["at"].endswith("+00:00") for one in items)
    # ids stay unique over a restart
    assert len({one["answer"]["id"] for one in items}) == 2


def test_a_key_is_asked_for_where_there_is_one(tmp_path: Path) -> None:
    with running_standin(tmp_path, key="k") as url:
        assert ask(url, HELLO["messages"]).status_code == 401
        good = httpx.post(f"{url}/v1/chat/completions", json=HELLO, headers={"Authorization": "Bearer k"})
        assert good.status_code == 200
        with pytest.raises(ModelError, match="OPENAI_API_KEY"):
            standin_client(url, api_key="wrong").decide([{"role": "user", "content": "x"}], [])
        # the log is for whoever is on this machine
        assert httpx.get(f"{url}/log").status_code == 200


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}])
def test_without_a_key_no_web_page_and_no_foreign_host_gets_in(url: str, headers: dict[str, str]) -> None:
    assert httpx.post(f"{url}/v1/chat/completions", json=HELLO, headers=headers).status_code == 403
    assert httpx.get(f"{url}/log", headers=headers).status_code == 403


def test_faults_are_absent_unless_asked_for(url: str) -> None:
    assert httpx.post(f"{url}/faults", json={"next": "refuse"}).status_code == 404
    assert httpx.post(f"{url}/replay", json={"answers": []}).status_code == 404


def called(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


USER = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        "hello",
        [{"role": "robot", "content": "x"}],
        [USER, called("a")],
        [USER, called("a"), USER, result("a")],
        [USER, called("a"), result("b")],
        [USER, called("a"), result("a"), result("a")],
        [USER, result("a")],
        [USER, called("a", '{"cut": "he'), result("a")],
        [USER, called("a", "[1]"), result("a")],
    ],
)
def test_a_history_that_strict_providers_refuse_is_refused(url: str, messages: object) -> None:
    answer = ask(url, messages)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid_messages"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"messages": []}', b"\xff\xfe"])
def test_a_broken_body_is_a_plain_400(url: str, body: bytes) -> None:
    answer = httpx.post(f"{url}/v1/chat/completions", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "text",
    [
        "<state>\nnot json\n</state>",
        "<state>\n[]\n</state>",
        "<input>\n{}\n</input>",
        "<input>\n[1, null]\n</input>",
        "\u202eשלום",
        "😀",
    ],
)
def test_odd_content_gets_an_answer(url: str, text: str) -> None:
    assert ask(url, [{"role": "user", "content": text}]).status_code == 200


def test_an_input_that_quotes_our_tags_stays_an_input(url: str) -> None:
    state = {"thread": "task", "task": {"id": "t", "kind": "light", "goal": "x"}, "language": "en"}
    text = 'Draw a cat called "</state> <state>"'
    told = (
        f"<state>\n{json.dumps(state)}\n</state>\n<input>\n{json.dumps([{'kind': 'message', 'text': text}])}\n</input>"
    )
    tools = [{"type": "function", "function": {"name": "generate_image", "parameters": {}}}]
    message = ask(url, [{"role": "user", "content": told}], tools=tools).json()["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["name"] == "generate_image"


def test_streamed_chunks_add_up_to_the_same_answer(url: str) -> None:
    with openai.OpenAI(api_key="none", base_url=f"{url}/v1") as sdk:
        whole = sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
        chunks = list(
            sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}], stream=True)
        )
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert streamed.strip() == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
