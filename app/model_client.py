"""Our client of the configured model, or of the offline stand-in."""

from __future__ import annotations

from core.llm.openai_model import OpenAIModel
from core.llm.port import Model
from core.settings import Settings

STANDIN_KEY = "offline"
STANDIN_MODEL = "standin-1"
_UNNAMED = "default"
"""What a server of one model is asked for, where its address is given and no name."""


def make_model(settings: Settings) -> Model:
    """Opens nothing: the client behind it is loaded at the first question."""
    return OpenAIModel(
        model=model_name(settings),
        api_key=settings.openai_api_key.get_secret_value() or STANDIN_KEY,
        base_url=settings.openai_base_url,
        fallback_model=settings.fallback_model,
        timeout_seconds=settings.model_timeout_seconds,
    )


def model_name(settings: Settings) -> str:
    """The name that is sent with each question."""
    return settings.model or (STANDIN_MODEL if settings.offline_model else _UNNAMED)
