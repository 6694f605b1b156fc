"""The `http` service: a request to a declared host, with secrets filled in, and masked in the answer."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from core.process import crash
from sidecar.broker.errors import RequestDenied, RequestFailed
from sidecar.broker.identity import SkillIdentity
from sidecar.broker.network.destination import Destination, read_url
from sidecar.broker.network.masks import SecretMasks
from sidecar.broker.network.outbound import OutboundHttp, OutboundRequest, OutboundResponse
from sidecar.broker.requests import HttpRequest
from sidecar.broker.service import Asker, ServiceAnswer, effect_key
from sidecar.broker.services import permissions
from skills.secrets import NAME, SecretFiles

MAX_CONTENT = 1024 * 1024
_REFERENCE = re.compile(r"\{\{secret:([^{}]*)\}\}")
_RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect", "keep-alive"}
)
_RANGE_HEADERS = frozenset({"range", "if-range"})
_FIELD = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,100}")
_MAX_HEADER = 8192


class HttpService:
    """Sends one request to one host that the manifest names and a person has granted."""

    def __init__(self, outbound: OutboundHttp, secrets: SecretFiles) -> None:
        self._outbound = outbound
        self._secrets = secrets

    def check(self, asker: Asker, request: HttpRequest) -> None:
        destination, url = read_url(request.url, request.params)
        permissions.require_host(asker.identity, destination)
        if _REFERENCE.search(request.url) or _REFERENCE.search(str(request.params)) or "%7B%7Bsecret" in str(url):
            raise RequestDenied("secret", "secrets are filled in only in headers, not in addresses")
        if request.content is not None and len(request.content) > MAX_CONTENT:
            raise RequestDenied(
                "limit", f"a request's content has at most {MAX_CONTENT} bytes, not {len(request.content)}"
            )
        for name, value in request.headers.items():
            if (
                not _FIELD.fullmatch(name.lower())
                or name.lower() in _RESERVED_HEADERS
                or name.lower().startswith("proxy-")
            ):
                raise RequestFailed(f"the header {name[:100]!r} must not be set by a skill", retriable=False)
            if name.lower() in _RANGE_HEADERS and self._allowed_secrets(asker.identity, destination):
                reason = "must not be set where the skill has a secret: part of an answer cannot be masked"
                raise RequestFailed(f"the header {name[:100]!r} {reason}", retriable=False)
            for secret in _REFERENCE.findall(value):
                permissions.require_secret(asker.identity, secret, destination)

    def has_effect(self, request: HttpRequest) -> bool:
        return request.method != "GET"

    def do(self, asker: Asker, request: HttpRequest) -> ServiceAnswer:
        destination, url = read_url(request.url, request.params)
        headers = {"accept": "*/*", "user-agent": f"loopwright-skill/{asker.stem}"}
        headers |= {name.lower(): value for name, value in request.headers.items()} | {"accept-encoding": "identity"}
        if self.has_effect(request):
            headers.setdefault("idempotency-key", effect_key(asker, "http", None, _effect_words(request)))
        masks = SecretMasks(self._allowed_secrets(asker.identity, destination))
        sent = OutboundRequest(
            request.method, destination, url, self._fill_secrets(headers, destination), request.content
        )
        try:
            with crash.around("skill.fetch"):
                answer = self._outbound.send(sent, request.timeout, asker.stem)
            return _mask_answer(answer, masks)
        except RequestFailed as error:
            raise RequestFailed(masks.text(str(error)), retriable=error.retriable) from None
        except RequestDenied as error:
            raise RequestDenied(error.what, masks.text(str(error))) from None

    def simulate(self, asker: Asker, request: HttpRequest) -> ServiceAnswer:
        del asker, request
        return {"status": 200, "headers": {"content-type": "application/json"}, "content": "e30="}

    def _fill_secrets(self, headers: Mapping[str, str], destination: Destination) -> dict[str, str]:
        filled = {
            name: _REFERENCE.sub(lambda found: self._secret_value(found[1], destination), value)
            for name, value in headers.items()
        }
        for name, value in filled.items():
            if not value.isascii() or not (value.isprintable() or value == "") or len(value) > _MAX_HEADER:
                raise RequestFailed(f"the header {name} holds characters that a header cannot hold", retriable=False)
        return filled

    def _secret_value(self, name: str, destination: Destination) -> str:
        value = self._secrets.get(name) if NAME.fullmatch(name) else None
        if value is None:
            raise RequestFailed(
                f"the secret {name} for {destination.host} is not stored; run `loopwright secrets set {name}`",
                retriable=False,
            )
        return value

    def _allowed_secrets(self, identity: SkillIdentity, destination: Destination) -> dict[str, str]:
        """Return the secrets that the skill may send to this destination.

        Only these are masked. If all were, a skill could let a server under its control answer with guesses, and see
        which are masked.
        """
        names = [
            name
            for name in identity.manifest.permissions.secrets
            if permissions.has_secret(identity, name, destination)
        ]
        return {name: value for name in names if NAME.fullmatch(name) and (value := self._secrets.get(name))}


def _effect_words(request: HttpRequest) -> dict[str, object]:
    content = base64.b64encode(request.content).decode() if request.content is not None else None
    return {"method": request.method, "url": request.url, "params": request.params, "content": content}


def _mask_answer(received: OutboundResponse, masks: SecretMasks) -> ServiceAnswer:
    headers = {name: masks.text(value) for name, value in received.headers.items()}
    content = masks.content(received.content)
    return {"status": received.status, "headers": headers, "content": base64.b64encode(content).decode()}
