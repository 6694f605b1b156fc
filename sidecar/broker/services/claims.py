"""The `claim` and `release` services: locks with which a skill keeps to one run at a time."""

from __future__ import annotations

from core.errors import InvalidError
from sidecar.broker.errors import RequestFailed
from sidecar.broker.requests import ClaimRequest, ReleaseRequest
from sidecar.broker.service import Asker, OpenTransaction, ServiceAnswer
from skills.book import claims


class ClaimService:
    """The claims of a skill are its own: its stem is part of each."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: ClaimRequest) -> None:
        """Needs no permission."""

    def has_effect(self, ask: ClaimRequest) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: ClaimRequest) -> ServiceAnswer:
        try:
            with self._transaction("skill.claim") as scope:
                held = claims.claim(scope, asker.stem, ask.key, asker.run_id, ask.minutes * 60)
        except InvalidError as error:
            raise RequestFailed(str(error), retriable=False) from None
        return {"held": held}

    def pretend(self, asker: Asker, ask: ClaimRequest) -> ServiceAnswer:
        del asker, ask
        return {"held": True}


class ReleaseService:
    """A handler of failures may name the run that failed; a run of another skill holds no claim of this one."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: ReleaseRequest) -> None:
        """Needs no permission."""

    def has_effect(self, ask: ReleaseRequest) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: ReleaseRequest) -> ServiceAnswer:
        with self._transaction("skill.release") as scope:
            return {"released": claims.release(scope, asker.stem, ask.key, ask.run_id or asker.run_id)}

    def pretend(self, asker: Asker, ask: ReleaseRequest) -> ServiceAnswer:
        del asker, ask
        return {"released": True}
