"""What a package imports to give the agent a tool of its own; see docs/extending/plug-in.md."""

from __future__ import annotations

from core.tools import CallContext, Effect, Tool, ToolResult

__all__ = ["CallContext", "Effect", "Tool", "ToolResult"]
