"""The model port against servers that behave, misbehave and break."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from core.errors import ModelError, UnavailableError
from core.llm.port import ToolSpec
from tests.model.hostile import Answer, completion, hostile
from tests.model.standin import standin_client

ASK = [{"role": "user", "content": "hi"}]
KEY = "sk-very-secret"


class Pick(BaseModel):
    outcome: str
    score: float = 0.0


def call(name: str, arguments: object, call_id: str | None = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_good_answer_is_read_whole() -> None:
    usage = {"total_tokens": 120, "prompt_tokens_details": {"cached_tokens": 64}}
    message = {"content": "Hello", "tool_calls": [call("paint", '{"a": 1}'), call("paint", "{", "c2")]}
    with hostile([completion(message, usage=usage, finish="tool_calls")]) as server:
        decision = standin_client(server.url).decide(ASK, [ToolSpec("paint", "Paints.", {"type": "object"})])
    assert decision.text == "Hello"
    assert [(one.id, one.name, one.arguments) for one in decision.calls] == [
        ("c1", "paint", '{"a": 1}'),
        ("c2", "paint", "{"),
    ]
    assert (decision.model, decision.usage.tokens, decision.usage.cached_tokens) == ("m-1", 120, 64)
    assert not decision.cut
    assert not decision.refused
    assert server.requests[0]["tools"][0]["function"] == {
        "name": "paint",
        "description": "Paints.",
        "parameters": {"type": "object"},
    }


def test_no_tools_are_sent_where_there_are_none() -> None:
    with hostile([completion({"content": "x"})]) as server:
        standin_client(server.url).decide(ASK, [])
    assert "tools" not in server.requests[0]


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>Bad gateway</html>", content_type="text/html"),
        Answer(b"[1, 2]"),
        Answer(b'"text"'),
        Answer(b"[" * 100_000),
        Answer(b"{}"),
        Answer(b'{"choices": []}'),
        Answer(b'{"choices": [{"message": null}]}'),
        Answer(b'{"choices": null, "error": {"message": "overloaded"}}'),
        Answer(b""),
        Answer(b'{"choices": [', promise=5000),
        Answer(b"oops", 500),
        Answer(b"oops", 503),
        Answer(b'{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}', 429),
        Answer(b"oops", 408),
    ],
)
def test_a_server_that_fails_may_be_asked_again_and_was_asked_once(answer: Answer) -> None:
    with hostile([answer]) as server, pytest.raises(UnavailableError, match="standin-1"):
        standin_client(server.url).decide(ASK, [])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b'{"error": {"message": "bad key sk-very-secret"}}', 401),
        Answer(b'{"error": {"message": "no sk-very-secret"}}', 403),
        Answer(b'{"error": {"message": "unknown model for sk-very-secret"}}', 404),
        Answer(b'{"error": {"message": "quota", "code": "insufficient_quota"}}', 429),
        Answer(b'{"error": {"message": "bad messages sk-very-secret"}}', 400),
    ],
)
def test_a_refused_request_is_no_use_repeating_and_tells_no_key(answer: Answer) -> None:
    with hostile([answer]) as server, pytest.raises(ModelError) as caught:
        standin_client(server.url, api_key=KEY).decide(ASK, [])
    assert KEY not in str(caught.value)
    assert server.keys == [f"Bearer {KEY}"]


@pytest.mark.parametrize("answer", [Answer(b"{}", wait=3), Answer(b"{" + b" " * 60, drip=0.1)])
def test_a_request_has_a_time_limit_as_a_whole(answer: Answer) -> None:
    with hostile([answer]) as server, pytest.raises(UnavailableError, match=r"0\.5 s"):
        standin_client(server.url, timeout_seconds=0.5).decide(ASK, [])


def test_nobody_there() -> None:
    with pytest.raises(UnavailableError, match="could not be reached"):
        standin_client("http://127.0.0.1:9").decide(ASK, [])


def test_the_fallback_is_asked_when_the_first_is_unavailable() -> None:
    with hostile([Answer(b"x", 503), completion({"content": "from the second"})]) as server:
        decision = standin_client(server.url, fallback_model="second").decide(ASK, [])
    assert decision.text == "from the second"
    assert [one["model"] for one in server.requests] == ["standin-1", "second"]


def test_the_fallback_is_not_asked_when_the_request_is_refused() -> None:
    with hostile([Answer(b"{}", 401)]) as server, pytest.raises(ModelError):
        standin_client(server.url, fallback_model="second").decide(ASK, [])
    assert len(server.requests) == 1


def test_cut_and_refused_answers_say_so() -> None:
    answers = [
        completion({"content": "half", "tool_calls": [call("paint", '{"a": "b')]}, finish="length"),
        completion({"content": None, "refusal": "I cannot"}),
        completion({"content": ""}, finish="content_filter"),
    ]
    with hostile(answers) as server:
        model = standin_client(server.url)
        cut, refused, filtered = (model.decide(ASK, []) for _ in range(3))
    assert (cut.cut, cut.refused, cut.calls[0].arguments) == (True, False, '{"a": "b')
    assert (refused.text, refused.refused) == ("I cannot", True)
    assert filtered.refused


def test_every_call_gets_an_id_of_its_own() -> None:
    calls = [call("a", "{}", ""), call("b", {"n": 1}), call("c", "{}"), call("d", None, None), "nonsense"]
    with hostile([completion({"content": None, "tool_calls": calls})]) as server:
        decision = standin_client(server.url).decide(ASK, [])
    assert [one.name for one in decision.calls] == ["a", "b", "c", "d"]
    assert len({one.id for one in decision.calls}) == 4
    assert decision.calls[1].arguments == '{"n": 1}'
    assert decision.calls[3].arguments == ""


def test_text_can_be_stored_by_every_database() -> None:
    parts = [{"type": "text", "text": "a\x00b"}, {"type": "text", "text": "\ud800c"}, {"type": "image"}]
    with hostile([completion({"content": parts})]) as server:
        decision = standin_client(server.url).decide(ASK, [])
    assert decision.text == "ab?c"


def test_arguments_and_verdicts_hide_nothing_unfit_behind_escapes() -> None:
    arguments = '{"title": "a\\u0000b\\ud800", "plain": "\\\\u0000 stays", "n": [1]}'
    answers = [
        completion({"content": None, "tool_calls": [call("paint", arguments)]}),
        completion({"content": '{"outcome": "ma\\u0000in"}'}),
    ]
    with hostile(answers) as server:
        model = standin_client(server.url)
        decision, verdict = model.decide(ASK, []), model.verdict("route", Pick, ASK)
    assert json.loads(decision.calls[0].arguments) == {"title": "ab?", "plain": "\\u0000 stays", "n": [1]}
    assert verdict.outcome == "main"


def verdict_of(answers: list[Answer]) -> tuple[Pick, list[dict[str, Any]]]:
    with hostile(answers) as server:
        return standin_client(server.url).verdict("route", Pick, ASK), server.requests


def test_a_verdict_is_asked_for_with_a_strict_schema() -> None:
    verdict, asked = verdict_of([completion({"content": '{"outcome": "main", "score": 0.5}'})])
    assert verdict == Pick(outcome="main", score=0.5)
    said = asked[0]["response_format"]["json_schema"]
    assert said["name"] == "route"
    assert said["schema"]["required"] == ["outcome", "score"]
    assert said["schema"]["additionalProperties"] is False
    assert "default" not in said["schema"]["properties"]["score"]


@pytest.mark.parametrize("text", ['```json\n{"outcome": "main"}\n```', '  {"outcome": "main"}\n'])
def test_json_in_a_fence_is_json(text: str) -> None:
    assert verdict_of([completion({"content": text})])[0].outcome == "main"


def test_a_server_without_schemas_is_asked_in_words_and_remembered() -> None:
    refusal = Answer(b'{"error": {"message": "response_format json_schema is not supported"}}', 400)
    good = completion({"content": '{"outcome": "ask"}'})
    with hostile([refusal, good, good]) as server:
        model = standin_client(server.url)
        first, second = model.verdict("route", Pick, ASK), model.verdict("route", Pick, ASK)
    assert first.outcome == second.outcome == "ask"
    kinds = [one["response_format"]["type"] for one in server.requests]
    assert kinds == ["json_schema", "json_object", "json_object"]
    assert "`route`" in server.requests[1]["messages"][0]["content"]
    assert '"outcome"' in server.requests[1]["messages"][0]["content"]


def test_an_unfit_verdict_gets_one_repair() -> None:
    verdict, asked = verdict_of(
        [completion({"content": "main, I think"}), completion({"content": '{"outcome": "main"}'})]
    )
    assert verdict.outcome == "main"
    assert asked[1]["messages"][-2] == {"role": "assistant", "content": "main, I think"}
    assert "JSON" in asked[1]["messages"][-1]["content"]


def test_two_unfit_verdicts_are_a_plain_failure() -> None:
    bad = completion({"content": json.dumps({"score": 1})})
    with hostile([bad, bad]) as server, pytest.raises(ModelError, match="outcome: Field required"):
        standin_client(server.url).verdict("route", Pick, ASK)
    assert len(server.requests) == 2


def test_a_refused_verdict_is_a_plain_failure() -> None:
    with (
        hostile([completion({"content": None, "refusal": "no"})]) as server,
        pytest.raises(ModelError, match="refused"),
    ):
        standin_client(server.url).verdict("route", Pick, ASK)
