"""`claim` and `release`: one run of the skill at a time."""

from __future__ import annotations

from core.errors import InvalidError
from sidecar.broker.act import Answer, Asker
from sidecar.broker.asks import ClaimAsk, ReleaseAsk
from sidecar.broker.denied import Failed
from sidecar.broker.transacting import Transaction
from skills import claims


class Claim:
    """The claims of a skill are its own: its stem is part of each."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: ClaimAsk) -> None:
        """Needs no permission."""

    def has_effect(self, ask: ClaimAsk) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: ClaimAsk) -> Answer:
        try:
            with self._transaction("skill.claim") as scope:
                held = claims.claim(scope, asker.stem, ask.key, asker.run_id, ask.minutes * 60)
        except InvalidError as error:
            raise Failed(str(error), retriable=False) from None
        return {"held": held}

    def pretend(self, asker: Asker, ask: ClaimAsk) -> Answer:
        del asker, ask
        return {"held": True}


class Release:
    """A handler of failures may name the run that failed; a run of another skill holds no claim of this one."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def check(self, asker: Asker, ask: ReleaseAsk) -> None:
        """Needs no permission."""

    def has_effect(self, ask: ReleaseAsk) -> bool:
        del ask
        return True

    def do(self, asker: Asker, ask: ReleaseAsk) -> Answer:
        with self._transaction("skill.release") as scope:
            return {"released": claims.release(scope, asker.stem, ask.key, ask.run_id or asker.run_id)}

    def pretend(self, asker: Asker, ask: ReleaseAsk) -> Answer:
        del asker, ask
        return {"released": True}
