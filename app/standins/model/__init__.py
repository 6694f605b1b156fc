"""The offline stand-in for a model: an OpenAI-compatible chat server that follows rules."""

from app.standins.model.config import ModelConfig
from app.standins.model.server import close, create_app, serve

__all__ = ["ModelConfig", "close", "create_app", "serve"]
