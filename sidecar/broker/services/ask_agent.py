"""The `ask_agent` service: posts a message to the agent in the name of a program."""

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
    """Needs `"ask_agent": True`, granted. What costs money needs a person's approval, since a program asked."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, request: AskAgentRequest) -> None:
        del request
        permissions.require_agent(asker.identity)

    def has_effect(self, request: AskAgentRequest) -> bool:
        del request
        return True

    def do(self, asker: Asker, request: AskAgentRequest) -> ServiceAnswer:
        key = effect_key(asker, "ask_agent", request.key, {"text": request.text})
        try:
            with self._transaction("skill.ask_agent") as scope:
                return {"message_id": _receive_message(scope, key, f"[skill {asker.stem}] {request.text}")}
        except InvalidError as error:
            raise RequestFailed(str(error), retriable=False) from None

    def simulate(self, asker: Asker, request: AskAgentRequest) -> ServiceAnswer:
        del asker, request
        return {"message_id": "pretended"}


def _receive_message(scope: Scope, key: str, text: str) -> str:
    """Store the message and return its id; under one key only the first message counts."""
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
    """Return the person in whose name the agent works."""
    query = scope.select(roles.c.person_id).where(roles.c.role == "owner").order_by(roles.c.person_id).limit(1)
    found = scope.scalar(query)
    if found is None:
        raise RequestFailed("this workspace has no owner", retriable=False)
    return str(found)
