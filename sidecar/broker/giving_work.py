"""`ask_agent`: a message to the agent, as a program posts it."""

from __future__ import annotations

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.tables import roles
from runtime import messages
from sidecar.broker import permission
from sidecar.broker.act import Answer, Asker, effect_key
from sidecar.broker.asks import AgentAsk
from sidecar.broker.denied import Failed
from sidecar.broker.transacting import Transaction


class GiveWork:
    """Paid acts that follow wait for a card, since a program asked."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: AgentAsk) -> None:
        del ask
        permission.give_work(asker.identity)

    def has_effect(self, ask: AgentAsk) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: AgentAsk) -> Answer:
        key = effect_key(asker, "ask_agent", ask.key, {"text": ask.text})
        try:
            with self._transaction("skill.ask_agent") as scope:
                return {"message_id": _asked(scope, key, f"[skill {asker.stem}] {ask.text}")}
        except InvalidError as error:
            raise Failed(str(error), retriable=False) from None

    def pretend(self, asker: Asker, ask: AgentAsk) -> Answer:
        del asker, ask
        return {"message_id": "pretended"}


def _asked(scope: Scope, key: str, text: str) -> str:
    """The id of the message: under one key the agent is asked once, in whatever words it is asked again."""
    try:
        return messages.receive(
            scope, person_id=_owner(scope), asked_by="program", channel_id=None, text=text, client_id=key
        ).id
    except ConflictError:
        before = messages.of_client(scope, key)
        if before is None:
            raise
        return before.id


def _owner(scope: Scope) -> str:
    """The person in whose name the agent works here."""
    query = scope.select(roles.c.person_id).where(roles.c.role == "owner").order_by(roles.c.person_id).limit(1)
    found = scope.scalar(query)
    if found is None:
        raise Failed("this workspace has no owner", retriable=False)
    return str(found)
