"""`runs`: the skill's own runs, and nobody else's."""

from __future__ import annotations

from sidecar.broker.act import Answer, Asker
from sidecar.broker.asks import RunsAsk
from sidecar.broker.transacting import Reading
from skills import runs


class LookBack:
    """Needs no permission."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def check(self, asker: Asker, ask: RunsAsk) -> None:
        """Everybody may know himself."""

    def has_effect(self, ask: RunsAsk) -> bool:
        del ask
        return False

    def do(self, asker: Asker, ask: RunsAsk) -> Answer:
        with self._reading() as scope:
            found = runs.of_skill(scope, asker.stem, ask.limit)
        return {
            "items": [
                {
                    "run_id": run.run_id,
                    "function": run.function_id,
                    "version_id": run.version_id,
                    "status": run.status,
                    "began_at": run.began_at.isoformat(),
                    "ended_at": run.ended_at.isoformat() if run.ended_at is not None else None,
                    "output": run.output,
                }
                for run in found
            ]
        }

    def pretend(self, asker: Asker, ask: RunsAsk) -> Answer:
        del asker, ask
        return {"items": []}
