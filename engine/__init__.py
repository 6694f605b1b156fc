"""An embedded server for Inngest functions; imports nothing of ours."""

from engine.config import EngineConfig
from engine.process import serve

__all__ = ["EngineConfig", "serve"]
