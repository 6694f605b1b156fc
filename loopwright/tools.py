"""What a package imports to give the agent a tool of its own; see docs/extending/plug-in.md."""

from __future__ import annotations

from core.errors import ConflictError, InvalidError, NotFoundError, RefusedError, UnavailableError
from core.tools import CallContext, Effect, Tool, ToolResult

__all__ = [
    "CallContext",
    "ConflictError",
    "Effect",
    "InvalidError",
    "NotFoundError",
    "RefusedError",
    "Tool",
    "ToolResult",
    "UnavailableError",
]
