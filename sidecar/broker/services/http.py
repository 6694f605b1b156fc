"""The `http` service: a request to a declared host, with secrets filled in and masked in what comes back."""

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
    """One request to one host."""

    def __init__(self, outbound: OutboundHttp, secrets: SecretFiles) -> None:
        self._outbound = outbound
        self._secrets = secrets

    def check(self, asker: Asker, ask: HttpRequest) -> None:
        place, url = read_url(ask.url, ask.params)
        permissions.require_host(asker.identity, place)
        if _REFERENCE.search(ask.url) or _REFERENCE.search(str(ask.params)) or "%7B%7Bsecret" in str(url):
            raise RequestDenied("secret", "secrets are filled in in headers only, not in an address")
        if ask.content is not None and len(ask.content) > MAX_CONTENT:
            raise RequestDenied("limit", f"a request's content has at most {MAX_CONTENT} bytes, not {len(ask.content)}")
        for name, value in ask.headers.items():
            if (
                not _FIELD.fullmatch(name.lower())
                or name.lower() in _RESERVED_HEADERS
                or name.lower().startswith("proxy-")
            ):
                raise RequestFailed(f"the header {name[:100]!r} is not the skill's to set", retriable=False)
            if name.lower() in _RANGE_HEADERS and self._known(asker.identity, place):
                reason = (
                    f"the header {name[:100]!r} is not the skill's to set where it has a secret: a piece is not masked"
                )
                raise RequestFailed(reason, retriable=False)
            for secret in _REFERENCE.findall(value):
                permissions.require_secret(asker.identity, secret, place)

    def has_effect(self, ask: HttpRequest) -> bool:
        return ask.method != "GET"

    def do(self, asker: Asker, ask: HttpRequest) -> ServiceAnswer:
        place, url = read_url(ask.url, ask.params)
        headers = {"accept": "*/*", "user-agent": f"loopwright-skill/{asker.stem}"}
        headers |= {name.lower(): value for name, value in ask.headers.items()} | {"accept-encoding": "identity"}
        if self.has_effect(ask):
            headers.setdefault("idempotency-key", effect_key(asker, "http", None, _effect_words(ask)))
        masks = SecretMasks(self._known(asker.identity, place))
        sent = OutboundRequest(ask.method, place, url, self._filled(headers, place), ask.content)
        try:
            with crash.around("skill.fetch"):
                answer = self._outbound.send(sent, ask.timeout, asker.stem)
            return _masked_answer(answer, masks)
        except RequestFailed as error:
            raise RequestFailed(masks.text(str(error)), retriable=error.retriable) from None
        except RequestDenied as error:
            raise RequestDenied(error.what, masks.text(str(error))) from None

    def pretend(self, asker: Asker, ask: HttpRequest) -> ServiceAnswer:
        del asker, ask
        return {"status": 200, "headers": {"content-type": "application/json"}, "content": "e30="}

    def _filled(self, headers: Mapping[str, str], place: Destination) -> dict[str, str]:
        filled = {
            name: _REFERENCE.sub(lambda found: self._secret(found[1], place), value) for name, value in headers.items()
        }
        for name, value in filled.items():
            if not value.isascii() or not (value.isprintable() or value == "") or len(value) > _MAX_HEADER:
                raise RequestFailed(f"the header {name} holds something that no header can", retriable=False)
        return filled

    def _secret(self, name: str, place: Destination) -> str:
        value = self._secrets.get(name) if NAME.fullmatch(name) else None
        if value is None:
            raise RequestFailed(
                f"nobody has stored the secret {name} for {place.host}; `loopwright secrets set {name}` does",
                retriable=False,
            )
        return value

    def _known(self, identity: SkillIdentity, place: Destination) -> dict[str, str]:
        """The secrets that the host may have from this skill.

        Others are not looked for: the skill could have a server of its own say all there can be, and see what is gone.
        """
        names = [
            name for name in identity.manifest.permissions.secrets if permissions.has_secret(identity, name, place)
        ]
        return {name: value for name in names if NAME.fullmatch(name) and (value := self._secrets.get(name))}


def _effect_words(ask: HttpRequest) -> dict[str, object]:
    content = base64.b64encode(ask.content).decode() if ask.content is not None else None
    return {"method": ask.method, "url": ask.url, "params": ask.params, "content": content}


def _masked_answer(received: OutboundResponse, masks: SecretMasks) -> ServiceAnswer:
    headers = {name: masks.text(value) for name, value in received.headers.items()}
    content = masks.content(received.content)
    return {"status": received.status, "headers": headers, "content": base64.b64encode(content).decode()}
