"""Sending a test app's events."""

from typing import Any

import inngest

from tests.engine.engine_process import EngineProcess


def send(engine: EngineProcess, client: inngest.Inngest, *data: dict[str, Any], name: str = "go") -> list[str]:
    return engine.send(*({"name": f"{client.app_id}/{name}", "data": each} for each in data))


def trigger(client: inngest.Inngest, name: str = "go") -> inngest.TriggerEvent:
    return inngest.TriggerEvent(event=f"{client.app_id}/{name}")
