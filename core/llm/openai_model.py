"""The language model over any OpenAI-compatible server, through the official client."""

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

MOST_ANSWER_BYTES = 8 * 1024 * 1024
_MAY_ASK_AGAIN = {408, 409, 425, 429}
# What servers call the limit of an answer's length: the newer name first.
_LIMITS = ("max_completion_tokens", "max_tokens")


class OpenAIModel:
    """Asks `model`, and `fallback_model` (where there is one) when the first is unavailable.

    A request is sent once: the client's own retries are off, and asking again is the caller's decision.
    `timeout_seconds` limits the whole request. An empty `base_url` means the client's own default.
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
        self._connected()

    def decide(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Decision:
        return self._ask(messages, {"tools": [_tool(spec) for spec in tools]} if tools else {})

    def verdict(self, name: str, shape: type[Verdict], messages: Sequence[ChatMessage]) -> Verdict:
        answer, asked = self._ask_verdict(name, shape, messages)
        try:
            return parse_verdict(shape, _unrefused_text(name, answer))
        except UnfitAnswer as problem:
            answer, _ = self._ask_verdict(name, shape, repair_question(asked, answer.text, problem))
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
        answer, asked = self._ask_object(name, schema, messages, max_tokens)
        usage = answer.usage
        try:
            return Completion(answer.text, parse_object(schema, _unrefused_text(name, answer)), usage, answer.model)
        except UnfitAnswer as problem:
            again = repair_question(asked, answer.text, problem)
        answer, _ = self._ask_object(name, schema, again, max_tokens)
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
                # Perhaps a schema that the server's dialect does not know; asked in words any server will do.
                pass
        asked = schema_in_words(name, schema, messages)
        return self._ask_limited(asked, {"response_format": {"type": "json_object"}}, max_tokens), asked

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
                # Perhaps a server without schemas; if it is something else, the second request says so.
                pass
        worded = verdict_in_words(name, shape, messages)
        answer = self._ask(worded, {"response_format": {"type": "json_object"}})
        self._knows_schemas = False
        return answer, worded

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
        sdk, client = _sdk(), self._connected()
        asked, until = request["model"], time.monotonic() + self._timeout
        # As an extra body it is sent as it is. As arguments the client would compare every message with its own types
        # at every request, which costs more than all the rest of a step.
        say = client.chat.completions.with_streaming_response.create
        try:
            with say(model=asked, messages=[], extra_body=request) as response:
                return self._read(asked, response.iter_bytes(), until)
        except sdk.APITimeoutError:
            raise UnavailableError(f"{asked} did not answer in {self._timeout:g} s") from None
        except sdk.APIStatusError as error:
            raise self._translated(asked, error) from None
        except sdk.APIConnectionError as error:
            raise UnavailableError(f"{asked} could not be reached: {type(error.__cause__ or error).__name__}") from None

    def _read(self, asked: str, chunks: Iterator[bytes], until: float) -> str:
        """The whole body. The client's time limit is for each read; a server that drips would hold us for ever."""
        body = bytearray()
        try:
            for chunk in chunks:
                body += chunk
                if time.monotonic() > until or len(body) > MOST_ANSWER_BYTES:
                    break
            else:
                return body.decode("utf-8", "replace")
        except Exception as error:  # noqa: BLE001 - which transport is under the client is its own affair
            raise UnavailableError(f"{asked} broke off its answer: {type(error).__name__}") from None
        limit = f"{MOST_ANSWER_BYTES} bytes" if len(body) > MOST_ANSWER_BYTES else f"{self._timeout:g} s"
        raise UnavailableError(f"{asked} did not finish its answer within {limit}")

    def _translated(self, asked: str, error: openai.APIStatusError) -> UnavailableError | ModelError:
        status, code = error.status_code, error.code
        if status in {401, 403}:
            return ModelError(f"{asked}: the server refuses the key ({status}); check OPENAI_API_KEY, OPENAI_BASE_URL")
        if code == "insufficient_quota":
            return ModelError(f"{asked}: the account's quota is used up")
        stated = str(error.message).replace(self._api_key, "…")[:300] if self._api_key else str(error.message)[:300]
        if status >= 500 or status in _MAY_ASK_AGAIN:
            return UnavailableError(f"{asked} answered {status}: {stated}")
        if status in {400, 422}:
            return _BadRequestError(f"{asked} refused the request ({status}): {stated}")
        return ModelError(f"{asked} answered {status}: {stated}")

    def _connected(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                sdk = _sdk()
                self._client = sdk.OpenAI(
                    # The client insists on a key; a server without keys ignores it.
                    api_key=self._api_key or "none",
                    base_url=self._base_url or None,
                    timeout=self._timeout,
                    max_retries=0,
                    # A proxy meant for the outside is no way to this machine.
                    http_client=sdk.DefaultHttpxClient(trust_env=not _is_here(self._base_url)),
                )
            return self._client


class _BadRequestError(ModelError):
    """The server refuses the request itself."""


def _sdk() -> Any:
    # Half a second to import: paid at the first question, not by every process that could ask one.
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


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
