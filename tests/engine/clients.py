"""SDK clients that speak to a test's engine."""

import logging
import uuid

import httpx
import inngest

from tests.engine.engine_process import EngineProcess

_QUIET = logging.getLogger("tests.engine.app")
_QUIET.setLevel(logging.CRITICAL)


def make_client(engine: EngineProcess, app_id: str | None = None) -> inngest.Inngest:
    """A client of an app of its own, in dev mode."""
    return inngest.Inngest(
        app_id=app_id or f"app{uuid.uuid4().hex[:8]}",
        api_base_url=engine.url,
        event_api_base_url=engine.url,
        is_production=False,
        logger=_QUIET,
    )


def close_client(client: inngest.Inngest) -> None:
    """Close the connections a client keeps; the SDK itself has no way to."""
    held = [value for owner in (client, *vars(client).values()) for value in getattr(owner, "__dict__", {}).values()]
    for value in held:
        if isinstance(value, httpx.Client):
            value.close()
