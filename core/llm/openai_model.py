"""Adapter of the language model to any OpenAI-compatible server, through the official client."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from core.errors import ModelError, UnavailableError
from core.llm.port import ChatMessage, Completion, Decision, SpentModelError, ToolSpec, Verdict
from core.llm.reply import read_reply
from core.llm.verdict import (
    UnfitAnswer,
    parse_object,
    parse_verdict,
    repair_question,
    schema_format,
    schema_in_words,
    verdict_format,
    verdict_in_words,
)

if TYPE_CHECKING:
    import openai

MAX_ANSWER_BYTES = 8 * 1024 * 1024
_RETRIABLE_STATUSES = {408, 409, 425, 429}
# Servers have two names for the limit of an answer's length; the newer one comes first.
_LIMITS = ("max_completion_tokens", "max_tokens")


class OpenAIModel:
    """Asks `model`, and when that is unavailable `fallback_model`, if there is one.

    A request is sent once: the retries of the client are off, since the caller decides whether to ask again.
    `timeout_seconds` limits the whole request. An empty `base_url` means the default of the client.
    """

    def __init__(
        self, *, model: str, api_key: str, base_url: str = "", fallback_model: str = "", timeout_seconds: float = 120
    ) -> None:
        self._models = (model, fallback_model) if fallback_model and fallback_model != model else (model,)
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout_seconds
        self._lock = threading.Lock()
        self._client: openai.OpenAI | None = None
        self._knows_schemas = True
        self._limit = _LIMITS[0]

    def get_ready(self) -> None:
        self._connect()

    def decide(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision:
        return self._ask(messages, {"tools": [_tool(spec) for spec in tools]} if tools else {})

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        answer, question = self._ask_verdict(name, shape, messages)
        try:
            return parse_verdict(shape, _unrefused_text(name, answer))
        except UnfitAnswer as problem:
            answer, _ = self._ask_verdict(name, shape, repair_question(question, answer.text, problem))
        try:
            return parse_verdict(shape, _unrefused_text(name, answer))
        except UnfitAnswer as problem:
            raise ModelError(f"{answer.model} gave no usable verdict `{name}` twice: {problem}") from None

    def complete(
        self, name: str, schema: Mapping[str, Any] | None, messages: Sequence[ChatMessage], max_tokens: int
    ) -> Completion:
        if schema is None:
            answer = self._ask_limited(messages, {}, max_tokens)
            return Completion(_unrefused_text(name, answer), None, answer.usage, answer.model)
        answer, question = self._ask_object(name, schema, messages, max_tokens)
        usage = answer.usage
        try:
            return Completion(answer.text, parse_object(schema, _unrefused_text(name, answer)), usage, answer.model)
        except UnfitAnswer as problem:
            repaired = repair_question(question, answer.text, problem)
        answer, _ = self._ask_object(name, schema, repaired, max_tokens)
        usage += answer.usage
        try:
            return Completion(answer.text, parse_object(schema, _unrefused_text(name, answer)), usage, answer.model)
        except UnfitAnswer as problem:
            raise SpentModelError(f"{answer.model} gave no usable `{name}` twice: {problem}", usage) from None

    def _ask_object(
        self, name: str, schema: Mapping[str, Any], messages: Sequence[ChatMessage], max_tokens: int
    ) -> tuple[Decision, Sequence[ChatMessage]]:
        if self._knows_schemas:
            try:
                return self._ask_limited(
                    messages, {"response_format": schema_format(name, schema)}, max_tokens
                ), messages
            except _BadRequestError:
                # The server may not take this schema; with the schema in words, any server can answer. The next schema
                # is tried again, since it may be one that the server takes.
                pass
        question = schema_in_words(name, schema, messages)
        return self._ask_limited(question, {"response_format": {"type": "json_object"}}, max_tokens), question

    def _ask_limited(self, messages: Sequence[ChatMessage], options: Mapping[str, Any], max_tokens: int) -> Decision:
        limit = self._limit
        try:
            return self._ask(messages, {**options, limit: max_tokens})
        except _BadRequestError as error:
            if limit not in str(error) or limit == _LIMITS[-1]:
                raise
        self._limit = _LIMITS[-1]
        return self._ask(messages, {**options, self._limit: max_tokens})

    def _ask_verdict(
        self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]
    ) -> tuple[Decision, Sequence[ChatMessage]]:
        if self._knows_schemas:
            try:
                return self._ask(messages, {"response_format": verdict_format(name, shape)}), messages
            except _BadRequestError:
                # The server may not support schemas; if the cause is another one, the second request fails too.
                pass
        question = verdict_in_words(name, shape, messages)
        answer = self._ask(question, {"response_format": {"type": "json_object"}})
        self._knows_schemas = False
        return answer, question

    def _ask(self, messages: Sequence[ChatMessage], options: Mapping[str, Any]) -> Decision:
        *others, last = self._models
        for model in others:
            try:
                return self._ask_one(model, messages, options)
            except UnavailableError:
                continue
        return self._ask_one(last, messages, options)

    def _ask_one(self, model: str, messages: Sequence[ChatMessage], options: Mapping[str, Any]) -> Decision:
        return read_reply(self._post({"model": model, "messages": list(messages), **options}), model)

    def _post(self, request: dict[str, Any]) -> str:
        sdk, client = _sdk(), self._connect()
        model, until = request["model"], time.monotonic() + self._timeout
        # An extra body is sent as it is. Messages given as arguments are checked against the client's own types, which
        # costs more than the rest of a step.
        create = client.chat.completions.with_streaming_response.create
        try:
            with create(model=model, messages=[], extra_body=request) as response:
                return self._read(model, response.iter_bytes(), until)
        except sdk.APITimeoutError:
            raise UnavailableError(f"{model} did not answer in {self._timeout:g} s") from None
        except sdk.APIStatusError as error:
            raise self._translate_error(model, error) from None
        except sdk.APIConnectionError as error:
            raise UnavailableError(f"{model} could not be reached: {type(error.__cause__ or error).__name__}") from None

    def _read(self, model: str, chunks: Iterator[bytes], until: float) -> str:
        """Read the whole body within the time limit, which the client applies only to each single read."""
        body = bytearray()
        try:
            for chunk in chunks:
                body += chunk
                if time.monotonic() > until or len(body) > MAX_ANSWER_BYTES:
                    break
            else:
                return body.decode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - the errors depend on the transport under the client
            raise UnavailableError(f"{model} broke off its answer: {type(error).__name__}") from None
        limit = f"{MAX_ANSWER_BYTES} bytes" if len(body) > MAX_ANSWER_BYTES else f"{self._timeout:g} s"
        raise UnavailableError(f"{model} did not finish its answer within {limit}")

    def _translate_error(self, model: str, error: openai.APIStatusError) -> UnavailableError | ModelError:
        status, code = error.status_code, error.code
        if status in {401, 403}:
            return ModelError(f"{model}: the server refuses the key ({status}); check OPENAI_API_KEY, OPENAI_BASE_URL")
        if code == "insufficient_quota":
            return ModelError(f"{model}: the account's quota is used up")
        stated = str(error.message).replace(self._api_key, "…")[:300] if self._api_key else str(error.message)[:300]
        if status >= 500 or status in _RETRIABLE_STATUSES:
            return UnavailableError(f"{model} answered {status}: {stated}")
        if status in {400, 422}:
            return _BadRequestError(f"{model} refused the request ({status}): {stated}")
        return ModelError(f"{model} answered {status}: {stated}")

    def _connect(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                sdk = _sdk()
                self._client = sdk.OpenAI(
                    # The client needs a key; a server without keys ignores it.
                    api_key=self._api_key or "none",
                    base_url=self._base_url or None,
                    timeout=self._timeout,
                    max_retries=0,
                    # A proxy for outside addresses must not be used for this machine.
                    http_client=sdk.DefaultHttpxClient(trust_env=not _is_loopback(self._base_url)),
                )
            return self._client


class _BadRequestError(ModelError):
    """The server refused the request as malformed."""


def _sdk() -> Any:
    # The import takes half a second, so it is left to the first request.
    import openai  # noqa: PLC0415

    return openai


def _unrefused_text(name: str, answer: Decision) -> str:
    if answer.refused:
        raise SpentModelError(f"{answer.model} refused to give the verdict `{name}`", answer.usage)
    return answer.text


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)},
    }


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
