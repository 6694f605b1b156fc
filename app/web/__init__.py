"""The web process: the HTTP API, the pages, the event stream."""

from __future__ import annotations

from app.web.application import create_app, hub_of

__all__ = ["create_app", "hub_of"]
