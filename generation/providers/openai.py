"""Provider of pictures and speech from an OpenAI-compatible server.

The server answers with the bytes, keeps no jobs and honours no keys. So each paid request is sent only once: the
client's own retries are off, and a request without an answer is never repeated.
"""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import openai
from openai.types import ImagesResponse
from pydantic import SecretStr

from core.errors import InvalidError, RefusedError, UnclearError
from generation.providers.bounded_http import NOT_SENT, limit_client, limit_exchange, parse_retry_after
from generation.providers.port import (
    NOT_SUPPORTED,
    InputSlot,
    JobLostError,
    JobNews,
    JobOutput,
    JobRequest,
    JobState,
    NotAcceptedError,
    NotSupported,
    Offer,
    Price,
)

SIZES = ("1024x1536", "1024x1024", "1536x1024")
PICTURES = ("image/png", "image/jpeg", "image/webp")
QUALITY = "medium"
VOICE = "alloy"
LONGEST_SPEECH = 4096
MAX_ANSWER_BYTES = 64 << 20
"""Limit of a whole answer as received, headers and base64 included."""
_NOT_SENT_NAMES = frozenset(error.__name__ for error in NOT_SENT)
"""Compared by name: the client may use another package than httpx with the same errors."""


class OpenAIProvider:
    """Provider that makes pictures and speech, and answers with the bytes.

    `picture_price` and `speech_price` are the cost of one request; the server itself names none. A request and its
    whole answer take at most `seconds`.
    """

    name = "openai"
    honours_keys = False

    def __init__(
        self,
        api_key: SecretStr,
        *,
        base_url: str,
        picture_model: str = "gpt-image-1",
        speech_model: str = "gpt-4o-mini-tts",
        picture_price: Decimal = Decimal("0.07"),
        speech_price: Decimal = Decimal("0.05"),
        seconds: float = 180.0,
    ) -> None:
        self._client = openai.OpenAI(
            api_key=api_key.get_secret_value() or "unset",
            base_url=base_url,
            max_retries=0,
            timeout=seconds,
            # No compression: a few compressed bytes may expand without bound.
            default_headers={"Accept-Encoding": "identity"},
            http_client=limit_client(
                openai.DefaultHttpxClient(
                    timeout=seconds, follow_redirects=False, event_hooks={"response": [_refuse_compressed]}
                )
            ),
        )
        self._seconds = seconds
        slots = (InputSlot("source", PICTURES, 1), InputSlot("reference", PICTURES, 4))
        self._offers = (
            Offer(picture_model, "image", "Pictures", SIZES, (), slots, Price(picture_price, "USD", "job")),
            # The words decide how long speech is; the requested length is only a hint.
            Offer(speech_model, "audio", "Speech", (), tuple(range(1, 121)), (), Price(speech_price, "USD", "job")),
        )

    def capabilities(self) -> tuple[Offer, ...]:
        return self._offers

    def submit(self, request: JobRequest) -> JobNews:
        try:
            with limit_exchange(self._seconds, MAX_ANSWER_BYTES):
                output = self._make_picture(request) if request.kind == "image" else self._make_speech(request)
        except openai.APIConnectionError as error:
            cause = type(error.__cause__).__name__
            if cause in _NOT_SENT_NAMES:
                raise NotAcceptedError(f"openai cannot be reached ({cause})") from error
            raise UnclearError(f"openai did not answer a request ({cause})") from error
        except openai.APIStatusError as error:
            raise _read_status_error(error) from error
        except (openai.OpenAIError, _CompressedError) as error:
            raise UnclearError(f"openai answered with something unreadable ({type(error).__name__})") from error
        return JobNews(request.key, JobState.SUCCEEDED, 1.0, (output,))

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        return NOT_SUPPORTED

    def status(self, upstream_id: str) -> JobNews:
        raise JobLostError("openai answers at once and keeps no jobs")

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        return NOT_SUPPORTED

    def fetch(self, output: JobOutput, most_bytes: int) -> bytes:
        raise RefusedError("openai answers with bytes; nothing is fetched from it")

    def verify_callback(self, headers: Mapping[str, str], body: bytes, now: datetime) -> JobNews:
        raise RefusedError("openai sends no callbacks")

    def _make_picture(self, request: JobRequest) -> JobOutput:
        options: dict[str, Any] = {"model": request.model, "prompt": _build_prompt(request), "n": 1, "quality": QUALITY}
        options |= {"size": request.params["size"]} if "size" in request.params else {}
        options |= {"extra_headers": {"Idempotency-Key": request.key}}
        if request.inputs:
            files = [(f"input-{n}", io.BytesIO(one.data), one.media_type) for n, one in enumerate(request.inputs)]
            answer = self._client.images.edit(image=files, **options)
        else:
            answer = self._client.images.generate(**options)
        # A server that answers with a page instead of JSON gives a plain string here, not an error.
        first = answer.data[0] if isinstance(answer, ImagesResponse) and answer.data else None
        if first is None or not first.b64_json:
            raise UnclearError("openai answered without a picture")
        try:
            return JobOutput("image/png", data=base64.b64decode(first.b64_json, validate=True))
        except binascii.Error:
            raise UnclearError("openai answered with a picture that is no base64") from None

    def _make_speech(self, request: JobRequest) -> JobOutput:
        words = str(request.params.get("prompt", ""))
        if len(words) > LONGEST_SPEECH:
            raise RefusedError(f"speech takes at most {LONGEST_SPEECH} characters, not {len(words)}")
        answer = self._client.audio.speech.create(
            model=request.model,
            voice=VOICE,
            input=words,
            response_format="wav",
            extra_headers={"Idempotency-Key": request.key},
        )
        return JobOutput("audio/wav", data=answer.read())


class _CompressedError(Exception):
    """The answer is compressed, although no compression was asked for."""


def _refuse_compressed(answer: Any) -> None:
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise _CompressedError


def _build_prompt(request: JobRequest) -> str:
    prompt, style = str(request.params.get("prompt", "")), request.params.get("style")
    if request.params.get("operation") == "enhance" and not prompt:
        prompt = "The same picture, finer in every detail; nothing else changes."
    if not prompt:
        raise InvalidError("a picture needs a prompt")
    return f"{prompt}\n\nStyle: {style}" if style else prompt


def _read_status_error(error: openai.APIStatusError) -> RefusedError | UnclearError | NotAcceptedError:
    status = error.status_code
    message = f"openai answered with status {status}: {error.message[:300]}"
    if status == 429 and error.code != "insufficient_quota":
        return NotAcceptedError(message, parse_retry_after(error.response.headers.get("retry-after", "")))
    if status >= 500 or status in (408, 409):
        return UnclearError(message)
    return RefusedError(message)
