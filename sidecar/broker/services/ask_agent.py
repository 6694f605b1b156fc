"""The `ask_agent` service: a message to the agent, posted by a program."""

from __future__ import annotations

from core.database import Scope
from core.errors import ConflictError, InvalidError
from core.tables import roles
from runtime.inbox import messages
from sidecar.broker.errors import RequestFailed
from sidecar.broker.requests import AskAgentRequest
from sidecar.broker.service import Asker, OpenTransaction, ServiceAnswer, effect_key
from sidecar.broker.services import permissions


class AskAgentService:
    """Paid acts that follow wait for a card, since a program asked."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: AskAgentRequest) -> None:
        del ask
        permissions.require_agent(asker.identity)

    def has_effect(self, ask: AskAgentRequest) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: AskAgentRequest) -> ServiceAnswer:
        key = effect_key(asker, "ask_agent", ask.key, {"text": ask.text})
        try:
            with self._transaction("skill.ask_agent") as scope:
                return {"message_id": _receive_message(scope, key, f"[skill {asker.stem}] {ask.text}")}
        except InvalidError as error:
            raise RequestFailed(str(error), retriable=False) from None

    def pretend(self, asker: Asker, ask: AskAgentRequest) -> ServiceAnswer:
        del asker, ask
        return {"message_id": "pretended"}


def _receive_message(scope: Scope, key: str, text: str) -> str:
    """The id of the message: under one key the agent is asked once, in whatever words it is asked again."""
    try:
        return messages.receive_message(
            scope, person_id=_workspace_owner(scope), asked_by="program", channel_id=None, text=text, client_id=key
        ).id
    except ConflictError:
        before = messages.find_message_of_client(scope, key)
        if before is None:
            raise
        return before.id


def _workspace_owner(scope: Scope) -> str:
    """The person in whose name the agent works here."""
    query = scope.select(roles.c.person_id).where(roles.c.role == "owner").order_by(roles.c.person_id).limit(1)
    found = scope.scalar(query)
    if found is None:
        raise RequestFailed("this workspace has no owner", retriable=False)
    return str(found)
