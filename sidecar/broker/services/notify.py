"""The `notify` service: a notice to a channel, with an optional question to people."""

from __future__ import annotations

from runtime import notices
from sidecar.broker.errors import RequestFailed
from sidecar.broker.requests import NotifyRequest
from sidecar.broker.service import Asker, OpenTransaction, ServiceAnswer, effect_key
from sidecar.broker.services import permissions
from skills.book import outcomes

_OPS = "ops"


class NotifyService:
    """Stores the notice; the worker sends it."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, request: NotifyRequest) -> None:
        permissions.require_channel(asker.identity, request.channel)
        if len(set(request.ask)) != len(request.ask):
            raise RequestFailed("the answers to pick from must differ", retriable=False)

    def has_effect(self, request: NotifyRequest) -> bool:
        del request
        return True

    def do(self, asker: Asker, request: NotifyRequest) -> ServiceAnswer:
        words = {"channel": request.channel, "text": request.text, "ask": request.ask}
        cause = effect_key(asker, f"notify:{request.channel}", request.key, words)
        # The text is marked as the skill's, so that it cannot pass for ours.
        text = f"[skill {asker.stem}] {request.text}"
        with self._transaction("skill.notify") as scope:
            notices.store_notice(
                scope, "ops" if request.channel == _OPS else "person", text, cause, channel=request.channel
            )
            if request.ask:
                outcomes.open_question_card(
                    scope,
                    skill_id=asker.stem,
                    version_id=asker.identity.version_id,
                    run_id=asker.run_id,
                    text=request.text,
                    answers=tuple(request.ask),
                    cause=cause,
                )
        return {}

    def simulate(self, asker: Asker, request: NotifyRequest) -> ServiceAnswer:
        del asker, request
        return {}
