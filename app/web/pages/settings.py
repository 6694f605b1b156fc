"""The page of the settings: budget and keys."""

from __future__ import annotations

from typing import Any

from app.web.api.budget import budget_shape
from app.web.api.keys import key_shape
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.pages.view import add_page
from core import identity
from core.database import Scope
from core.identity import Speaker


def settings_page(dependencies: WebDependencies) -> Endpoints:
    endpoints = Endpoints(dependencies, "settings_page")
    add_page(endpoints, "/settings", "settings.html", _show_settings)
    return endpoints


def _show_settings(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    admin = speaker.may("admin")
    keys = [key_shape(key) for key in identity.list_keys(scope)] if admin else []
    return {"budget": budget_shape(scope), "keys": keys, "admin": admin, "own_key": speaker.key_id}
