"""Questions of skills: text, or an object by a JSON schema, with what it cost."""

from __future__ import annotations

from typing import Any

import pytest

from core.errors import ModelError
from core.llm.json_schema import find_misfits
from core.llm.port import SpentModelError
from tests.model.hostile import Answer, completion, hostile
from tests.model.standin import standin_client

ASK = [{"role": "user", "content": "How do they do?"}]
SCHEMA = {
    "type": "object",
    "properties": {"state": {"enum": ["normal", "critical"]}, "score": {"type": "number", "minimum": 0}},
    "required": ["state"],
    "additionalProperties": False,
}
USAGE = {"total_tokens": 30, "prompt_tokens": 20, "completion_tokens": 10}
BAD_LIMIT = Answer(b'{"error": {"message": "Unknown parameter: max_completion_tokens"}}', 400)


def said(text: str) -> Answer:
    return completion({"content": text}, usage=USAGE)


def test_words_come_back_with_their_cost_and_their_limit_is_sent() -> None:
    with hostile([said("Well.")]) as server:
        answer = standin_client(server.url).complete("answer", None, ASK, 77)

    assert (answer.text, answer.value) == ("Well.", None)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 10)
    assert server.requests[0]["max_completion_tokens"] == 77


def test_an_older_name_of_the_limit_is_found_once() -> None:
    with hostile([BAD_LIMIT, said("a"), said("b")]) as server:
        model = standin_client(server.url)
        answers = [model.complete("answer", None, ASK, 77).text for _ in range(2)]

    assert answers == ["a", "b"]
    assert [("max_tokens" in one, "max_completion_tokens" in one) for one in server.requests] == [
        (False, True),
        (True, False),
        (True, False),
    ]


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ('{"state": "odd"}', "none of 'normal', 'critical'"),
        ('{"state": "normal", "score": NaN}', "is no JSON"),
        ('{"state": "normal", "score": 1e999}', "is no JSON"),
    ],
)
def test_an_object_that_does_not_fit_is_asked_for_once_more_and_both_are_counted(first: str, reason: str) -> None:
    with hostile([said(first), said('{"state": "critical"}')]) as server:
        answer = standin_client(server.url).complete("health", SCHEMA, ASK, 50)

    assert answer.value == {"state": "critical"}
    assert answer.usage.tokens == 60
    assert reason in server.requests[1]["messages"][-1]["content"]


def test_two_misfits_are_a_failure_that_says_what_was_spent() -> None:
    with (
        hostile([said("no"), said('{"state": "normal", "more": 1}')]) as server,
        pytest.raises(SpentModelError, match="more: is not asked for") as caught,
    ):
        standin_client(server.url).complete("health", SCHEMA, ASK, 50)

    assert caught.value.usage.tokens == 60
    assert isinstance(caught.value, ModelError)


@pytest.mark.parametrize(
    ("schema", "value", "reason"),
    [
        (SCHEMA, {"state": "normal", "score": 1.5}, None),
        (SCHEMA, {"state": "normal", "score": True}, "answer.score: is no number"),
        (SCHEMA, {"state": "normal", "score": -1}, "answer.score: is below 0"),
        (SCHEMA, {}, "answer.state: is missing"),
        ({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}, [1, "x"], "answer.1"),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 2}]}, "abc", "fits none of its forms"),
        ({"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 2}]}, None, None),
    ],
)
def test_the_shape_of_a_value_is_compared(schema: dict[str, Any], value: Any, reason: str | None) -> None:
    found = find_misfits(schema, value)

    assert (reason is None and found == []) or (reason is not None and any(reason in one for one in found))


def test_a_schema_that_refers_to_itself_without_end_is_given_up() -> None:
    loop = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 10}}, "$ref": "#/$defs/a"}

    assert find_misfits(loop, 1) != []
