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

    def check(self, asker: Asker, ask: NotifyRequest) -> None:
        permissions.require_channel(asker.identity, ask.channel)
        if len(set(ask.ask)) != len(ask.ask):
            raise RequestFailed("the answers to pick from must differ", retriable=False)

    def has_effect(self, ask: NotifyRequest) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: NotifyRequest) -> ServiceAnswer:
        words = {"channel": ask.channel, "text": ask.text, "ask": ask.ask}
        cause = effect_key(asker, f"notify:{ask.channel}", ask.key, words)
        # Whatever it says, it says it in its own name and not in ours.
        text = f"[skill {asker.stem}] {ask.text}"
        with self._transaction("skill.notify") as scope:
            notices.store_notice(scope, "ops" if ask.channel == _OPS else "person", text, cause, channel=ask.channel)
            if ask.ask:
                outcomes.open_question_card(
                    scope,
                    skill_id=asker.stem,
                    version_id=asker.identity.version_id,
                    run_id=asker.run_id,
                    text=ask.text,
                    answers=tuple(ask.ask),
                    cause=cause,
                )
        return {}

    def pretend(self, asker: Asker, ask: NotifyRequest) -> ServiceAnswer:
        del asker, ask
        return {}
