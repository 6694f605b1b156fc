"""Is the attached engine there, and of the kind that the settings take it for?"""

from __future__ import annotations

import httpx

from app.doctor.finding import Finding, Verdict
from core.orchestrator.engine import Engine
from core.settings import Settings

_SUBJECT = "engine"
_KIND_HEADER = "X-Inngest-Server-Kind"


def look_at_engine(settings: Settings, *, running: bool = False) -> Finding:
    """Asks for an address that every engine answers; its header says whether it checks keys.

    `running`: a product runs here with an engine that is not its own, which only its own environment need name.
    """
    engine = Engine.of(settings)
    if running and not (settings.inngest_base_url or settings.inngest_dev):
        words = "is the one that `up --engine` named: set INNGEST_BASE_URL or INNGEST_DEV to it to have it looked at"
        return Finding(_SUBJECT, Verdict.NOTE, words)
    if not (settings.inngest_base_url or settings.inngest_dev):
        return Finding(_SUBJECT, Verdict.NOTE, "`loopwright up` brings its own; no other is named")
    try:
        answer = httpx.get(f"{engine.api_url}/dev", timeout=5, trust_env=False)
    except httpx.HTTPError as error:
        words = f"{engine.api_url} does not answer ({type(error).__name__}): start it, or correct INNGEST_BASE_URL"
        return Finding(_SUBJECT, Verdict.PROBLEM, words)
    return judge_kind(engine.api_url, answer.headers.get(_KIND_HEADER), keyed=engine.keyed)


def judge_kind(url: str, kind: str | None, *, keyed: bool) -> Finding:
    """Compare what the engine says of itself with what we take it for."""
    match kind, keyed:
        case "dev", True:
            words = f"{url} is a dev server, the settings take it for production: set INNGEST_DEV={url}"
            return Finding(_SUBJECT, Verdict.PROBLEM, words)
        case "cloud", False:
            words = f"{url} checks keys, the settings name none: set INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY"
            return Finding(_SUBJECT, Verdict.PROBLEM, words)
        case _:
            return Finding(_SUBJECT, Verdict.OK, f"{url} answers, {'with' if keyed else 'without'} keys")
