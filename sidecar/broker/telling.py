"""`notify`: a notice to a channel, and with it a question to people."""

from __future__ import annotations

from runtime import notices
from sidecar.broker import permission
from sidecar.broker.act import Answer, Asker, effect_key
from sidecar.broker.asks import NotifyAsk
from sidecar.broker.denied import Failed
from sidecar.broker.transacting import Transaction
from skills import outcomes

_OPS = "ops"


class Tell:
    """Stores the notice; the worker sends it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: NotifyAsk) -> None:
        permission.tell(asker.identity, ask.channel)
        if len(set(ask.ask)) != len(ask.ask):
            raise Failed("the answers to pick from must differ", retriable=False)

    def has_effect(self, ask: NotifyAsk) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: NotifyAsk) -> Answer:
        words = {"channel": ask.channel, "text": ask.text, "ask": ask.ask}
        cause = effect_key(asker, f"notify:{ask.channel}", ask.key, words)
        # Whatever it says, it says it in its own name and not in ours.
        text = f"[skill {asker.stem}] {ask.text}"
        with self._transaction("skill.notify") as scope:
            notices.tell(scope, "ops" if ask.channel == _OPS else "person", text, cause, channel=ask.channel)
            if ask.ask:
                outcomes.ask_people(
                    scope,
                    skill_id=asker.stem,
                    version_id=asker.identity.version_id,
                    run_id=asker.run_id,
                    text=ask.text,
                    answers=tuple(ask.ask),
                    cause=cause,
                )
        return {}

    def pretend(self, asker: Asker, ask: NotifyAsk) -> Answer:
        del asker, ask
        return {}
