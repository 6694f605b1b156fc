"""Verdicts: ask for an answer with a JSON schema, and check it against the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from core.llm.json_schema import find_misfits
from core.llm.port import ChatMessage, Verdict
from core.llm.text import clean_json, load_strict_json


def verdict_format(name: str, shape: type[BaseModel]) -> dict[str, Any]:
    """Make the `response_format` of a verdict, for servers that enforce schemas."""
    return schema_format(name, shape.model_json_schema())


def schema_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Make the `response_format` of a JSON schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": _strict(schema)}}


def verdict_in_words(name: str, shape: type[BaseModel], messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put the shape of a verdict into the first system message, for servers that know only `json_object`."""
    return schema_in_words(name, shape.model_json_schema(), messages)


def schema_in_words(name: str, schema: Mapping[str, Any], messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Put a JSON schema into the first system message."""
    order = (
        f"Answer with the verdict `{name}`: one JSON object and nothing else, valid under this JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    if messages and messages[0].get("role") == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{order}"}, *messages[1:]]
    return [{"role": "system", "content": order}, *messages]


class UnfitAnswer(ValueError):
    """An answer does not have the shape; the message says where, without repeating the answer."""


def parse_verdict(shape: type[Verdict], text: str) -> Verdict:
    """Read a verdict from the text of an answer; raises UnfitAnswer."""
    try:
        return shape.model_validate_json(clean_json(_without_fence(text)))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        where = [f"{'.'.join(str(part) for part in item['loc']) or 'answer'}: {item['msg']}" for item in problems[:5]]
        raise UnfitAnswer("; ".join(where)) from None


def parse_object(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Read an object from the text of an answer; raises UnfitAnswer."""
    try:
        value = load_strict_json(clean_json(_without_fence(text)))
    except (ValueError, RecursionError):
        raise UnfitAnswer("answer: is no JSON") from None
    if not isinstance(value, dict):
        raise UnfitAnswer("answer: is no object")
    if wrong := find_misfits(schema, value):
        raise UnfitAnswer("; ".join(wrong))
    return value


def repair_question(messages: Sequence[ChatMessage], text: str, problem: UnfitAnswer) -> list[ChatMessage]:
    """Repeat the question with the unfit answer and what is wrong with it."""
    return [
        *messages,
        {"role": "assistant", "content": text or "(nothing)"},
        {"role": "user", "content": f"That answer does not fit: {problem}. Answer again with only the JSON object."},
    ]


def _without_fence(text: str) -> str:
    """Remove the ``` lines that small models put around JSON."""
    stripped = text.strip()
    if not stripped.startswith("```"):
        return stripped
    return stripped.partition("\n")[2].rpartition("```")[0].strip()


def _strict(schema: Any) -> Any:
    """Rewrite a schema for strict servers: all properties required, no others allowed, no defaults."""
    match schema:
        case list():
            return [_strict(item) for item in schema]
        case Mapping():
            kept = {key: value for key, value in schema.items() if key != "default" or not _is_schema(schema)}
            strict = {key: _strict(value) for key, value in kept.items()}
            if isinstance(strict.get("properties"), dict):
                strict |= {"required": list(strict["properties"]), "additionalProperties": False}
            return strict
        case _:
            return schema


def _is_schema(mapping: Mapping[str, Any]) -> bool:
    """Whether this is a schema and not a `properties` table, in which `default` would be the name of a property."""
    return any(key in mapping for key in ("type", "$ref", "anyOf", "allOf", "enum", "const"))
