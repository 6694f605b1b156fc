"""The `claim` and `release` services: locks with which a skill keeps to one run at a time."""

from __future__ import annotations

from core.errors import InvalidError
from sidecar.broker.errors import RequestFailed
from sidecar.broker.requests import ClaimRequest, ReleaseRequest
from sidecar.broker.service import Asker, OpenTransaction, ServiceAnswer
from skills.book import claims


class ClaimService:
    """Takes a lock, which belongs to this skill alone."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, request: ClaimRequest) -> None:
        """Needs no permission."""

    def has_effect(self, request: ClaimRequest) -> bool:
        del request
        return True

    def do(self, asker: Asker, request: ClaimRequest) -> ServiceAnswer:
        try:
            with self._transaction("skill.claim") as scope:
                held = claims.claim(scope, asker.stem, request.key, asker.run_id, request.minutes * 60)
        except InvalidError as error:
            raise RequestFailed(str(error), retriable=False) from None
        return {"held": held}

    def simulate(self, asker: Asker, request: ClaimRequest) -> ServiceAnswer:
        del asker, request
        return {"held": True}


class ReleaseService:
    """Releases a lock. A failure handler may name the failed run; a run of another skill holds no lock of this one."""

    def __init__(self, transaction: OpenTransaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, request: ReleaseRequest) -> None:
        """Needs no permission."""

    def has_effect(self, request: ReleaseRequest) -> bool:
        del request
        return True

    def do(self, asker: Asker, request: ReleaseRequest) -> ServiceAnswer:
        with self._transaction("skill.release") as scope:
            return {"released": claims.release(scope, asker.stem, request.key, request.run_id or asker.run_id)}

    def simulate(self, asker: Asker, request: ReleaseRequest) -> ServiceAnswer:
        del asker, request
        return {"released": True}
