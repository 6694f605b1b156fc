"""Run as a program: submits one order, as a worker would, until it is killed or done."""

from __future__ import annotations

import sys
from pathlib import Path

from core.clock import SystemClock
from core.database import Database
from core.settings import Settings
from generation.execution.submission import submit_order
from generation.providers.capabilities import Capabilities
from tests.generation.world import GenerationWorldDependencies, StudioOfTests, studio_provider
from workspace.assets import Assets


def main(url: str, home: str, workspace_id: str, order_id: str, studio_url: str) -> None:
    provider = studio_provider(StudioOfTests(studio_url))
    dependencies = GenerationWorldDependencies(
        settings=Settings(home=Path(home), lease_seconds=2),
        database=Database(url, clock=SystemClock()),
        providers={"studio": provider},
        capabilities=Capabilities({"studio": provider}, SystemClock()),
        assets=Assets(f"file://{home}/assets"),
    )
    submit_order(dependencies, workspace_id, order_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
