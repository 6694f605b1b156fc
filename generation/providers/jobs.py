"""Provider for any service that speaks the jobs protocol, such as the offline studio."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import SecretStr

from core.errors import InvalidError, RefusedError, UnavailableError, UnclearError
from generation.providers.bounded_http import (
    NOT_SENT,
    AnswerTooLongError,
    BoundedResponse,
    open_client,
    parse_origin,
    parse_retry_after,
    send_request,
)
from generation.providers.jobs_schema import parse_job, parse_offers
from generation.providers.port import (
    JobInput,
    JobLostError,
    JobNews,
    JobOutput,
    JobRequest,
    NotAcceptedError,
    NotSupported,
    Offer,
)

SIGNATURE = "x-jobs-signature"
OLDEST_CALLBACK = timedelta(seconds=300)
SUBMIT_SECONDS = 30.0
ASK_SECONDS = 20.0
FETCH_SECONDS = 120.0

InputAddress = Callable[[str, datetime], str]
"""Makes a signed address of stored bytes from their hash, valid until a time."""


class JobsProvider:
    """Provider that speaks the jobs protocol.

    The service sends callbacks to `callback_url`, if it can reach us. Inputs are sent as addresses made by `address`,
    or as bytes without it. Outputs are fetched from the service's own origin, and from `output_hosts` over https
    without our key.
    """

    honours_keys = True

    def __init__(
        self,
        name: str,
        url: str,
        key: SecretStr,
        *,
        callback_url: str = "",
        address: InputAddress | None = None,
        output_hosts: Sequence[str] = (),
        submit_seconds: float = SUBMIT_SECONDS,
        ask_seconds: float = ASK_SECONDS,
        fetch_seconds: float = FETCH_SECONDS,
    ) -> None:
        self.name = name
        self._url = url.rstrip("/")
        self._key = key
        self._callback_url = callback_url
        self._address = address
        self._output_hosts = frozenset(output_hosts)
        self._submit_seconds = submit_seconds
        self._ask_seconds = ask_seconds
        self._fetch_seconds = fetch_seconds
        self._http = open_client(url, ask_seconds)

    def capabilities(self) -> tuple[Offer, ...]:
        answer = self._ask("/models")
        try:
            return parse_offers(answer.json())
        except (ValueError, InvalidError) as error:
            raise UnavailableError(f"{self.name} lists no models: {error}") from None

    def submit(self, request: JobRequest) -> JobNews:
        headers = {**self._headers(), "Idempotency-Key": request.key}
        limit = httpx.Timeout(self._submit_seconds, connect=min(self._submit_seconds, 5.0))
        try:
            answer = send_request(
                self._http, "POST", f"{self._url}/jobs",
                seconds=self._submit_seconds, timeout=limit, headers=headers, json=self._request_body(request),
            )  # fmt: skip
        except NOT_SENT as error:
            raise NotAcceptedError(f"{self.name} cannot be reached ({type(error).__name__})") from error
        except (httpx.HTTPError, AnswerTooLongError) as error:
            raise UnclearError(f"{self.name} did not answer a submission ({type(error).__name__})") from error
        return self._read_submission(answer)

    def look_up(self, key: str) -> JobNews | NotSupported | None:
        try:
            return self._read_job(self._ask(f"/jobs?idempotency_key={quote(key, safe='')}"))
        except JobLostError:
            return None

    def status(self, upstream_id: str) -> JobNews:
        return self._check_job_id(upstream_id, self._read_job(self._ask(f"/jobs/{quote(upstream_id, safe='')}")))

    def cancel(self, upstream_id: str) -> JobNews | NotSupported:
        answer = self._ask(f"/jobs/{quote(upstream_id, safe='')}/cancel", method="POST", accepted_status=409)
        return (
            self.status(upstream_id)
            if answer.status == 409
            else self._check_job_id(upstream_id, self._read_job(answer))
        )

    def fetch(self, output: JobOutput, most_bytes: int) -> bytes:
        try:
            origin = parse_origin(output.url)
        except ValueError:
            raise RefusedError(f"{self.name} names an output without an http address") from None
        ours = origin == parse_origin(self._url)
        if not ours and not (origin[0] == "https" and origin[1] in self._output_hosts):
            raise RefusedError(f"{self.name} names an output on {origin[1]}, which is not one of its hosts")
        try:
            answer = self._fetch(output.url, most_bytes, ours=ours)
        except AnswerTooLongError as error:
            raise RefusedError(f"{self.name}'s output: {error}") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnavailableError(f"{self.name}'s output could not be fetched ({type(error).__name__})") from error
        if answer.ok:
            return answer.body
        if answer.status >= 500 or answer.status in (408, 429):
            raise UnavailableError(f"{self.name}'s output could not be fetched: status {answer.status}")
        raise RefusedError(f"{self.name}'s output cannot be had: status {answer.status}")

    def verify_callback(self, headers: Mapping[str, str], body: bytes, now: datetime) -> JobNews:
        signature = next((value for name, value in headers.items() if name.lower() == SIGNATURE), "")
        fields = dict(part.strip().partition("=")[::2] for part in signature.split(","))
        sent, given = fields.get("t", ""), fields.get("v1", "")
        key = self._key.get_secret_value().encode()
        if not key:
            raise RefusedError(
                f"{self.name} has no key here, so nothing tells who sent a callback; set LOOPWRIGHT_JOBS_KEY"
            )
        signed = hmac.new(key, sent.encode() + b"." + body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signed.encode(), given.encode()):
            raise RefusedError("the callback's signature does not fit its body")
        at = int(sent[:12]) if sent.isascii() and sent.isdigit() else 0
        if abs(now.timestamp() - at) > OLDEST_CALLBACK.total_seconds():
            raise RefusedError("the callback is older than 300 s, or from the future; send it with a fresh signature")
        try:
            return parse_job(BoundedResponse(200, httpx.Headers(), body).json())
        except ValueError:
            raise InvalidError("the callback's body is no JSON") from None

    def _fetch(self, url: str, most_bytes: int, *, ours: bool) -> BoundedResponse:
        if ours:
            return send_request(
                self._http, "GET", url, seconds=self._fetch_seconds, most=most_bytes, headers=self._headers()
            )
        with open_client(url, self._ask_seconds) as client:
            return send_request(client, "GET", url, seconds=self._fetch_seconds, most=most_bytes)

    def _headers(self) -> dict[str, str]:
        key = self._key.get_secret_value()
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _request_body(self, request: JobRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": request.kind,
            "model": request.model,
            "params": dict(request.params),
            "inputs": [self._input_body(item, request.inputs_until) for item in request.inputs],
        }
        # Without a key we could not verify a callback.
        wants_callback = self._callback_url and self._key.get_secret_value()
        return body | ({"callback_url": self._callback_url} if wants_callback else {})

    def _input_body(self, item: JobInput, until: datetime) -> dict[str, str]:
        body = {"role": item.role, "media_type": item.media_type, "sha256": item.sha256}
        if self._address is not None:
            return body | {"url": self._address(item.sha256, until)}
        return body | {"data": base64.b64encode(item.data).decode()}

    def _read_submission(self, answer: BoundedResponse) -> JobNews:
        if answer.ok:
            try:
                return parse_job(answer.json())
            except (ValueError, InvalidError) as error:
                raise UnclearError(f"{self.name} answered a submission with no job: {error}") from None
        refusal = f"{self.name} did not take the job: {answer.detail()}"
        wait = parse_retry_after(answer.headers.get("retry-after", ""))
        # The protocol promises that nothing was started after a 429, or a 503 that says when to try again.
        if answer.status == 429 or (answer.status == 503 and wait is not None):
            raise NotAcceptedError(refusal, wait)
        # 409: the key already has a job; looking it up shows whether it is ours.
        if answer.status >= 500 or answer.status in (408, 409):
            raise UnclearError(f"{self.name} answered a submission with {answer.detail()}")
        raise RefusedError(refusal)

    def _ask(self, path: str, *, method: str = "GET", accepted_status: int = 0) -> BoundedResponse:
        try:
            answer = send_request(
                self._http, method, self._url + path, seconds=self._ask_seconds, headers=self._headers()
            )
        except (httpx.HTTPError, httpx.InvalidURL, AnswerTooLongError) as error:
            raise UnavailableError(f"{self.name} does not answer ({type(error).__name__})") from error
        if answer.status == 404:
            raise JobLostError(f"{self.name} knows no such job")
        if not answer.ok and answer.status != accepted_status:
            raise UnavailableError(f"{self.name} answers with {answer.detail()}")
        return answer

    def _read_job(self, answer: BoundedResponse) -> JobNews:
        try:
            return parse_job(answer.json())
        except ValueError:
            raise UnavailableError(f"{self.name} answers with something that is no JSON") from None
        except InvalidError as error:
            raise UnavailableError(f"{self.name}: {error}") from None

    def _check_job_id(self, upstream_id: str, news: JobNews) -> JobNews:
        if news.upstream_id != upstream_id:
            raise UnavailableError(f"{self.name} answers with job {news.upstream_id[:80]} when asked for {upstream_id}")
        return news
