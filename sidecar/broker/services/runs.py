"""The `runs` service: lists the skill's own runs."""

from __future__ import annotations

from sidecar.broker.requests import RunsRequest
from sidecar.broker.service import Asker, OpenReading, ServiceAnswer
from skills.book import runs


class RunsService:
    """Needs no permission."""

    def __init__(self, reading: OpenReading) -> None:
        self._reading = reading

    def check(self, asker: Asker, request: RunsRequest) -> None:
        """A skill may always see its own runs."""

    def has_effect(self, request: RunsRequest) -> bool:
        del request
        return False

    def do(self, asker: Asker, request: RunsRequest) -> ServiceAnswer:
        with self._reading() as scope:
            found = runs.list_skill_runs(scope, asker.stem, request.limit)
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

    def simulate(self, asker: Asker, request: RunsRequest) -> ServiceAnswer:
        del asker, request
        return {"items": []}
