"""The offline stand-in for a model: an OpenAI-compatible chat server that follows rules."""

from standins.model.config import ModelConfig
from standins.model.server import close, create_app, serve

__all__ = ["ModelConfig", "close", "create_app", "serve"]
