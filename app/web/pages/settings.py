"""Budget and keys."""

from __future__ import annotations

from typing import Any

from app.web.api.budget import budget_shape
from app.web.api.keys import key_shape
from app.web.endpoints import Door
from app.web.pages.view import page
from app.web.parts import WebParts
from core import identity
from core.database import Scope
from core.identity import Speaker


def settings_page(parts: WebParts) -> Door:
    door = Door(parts, "settings_page")
    page(door, "/settings", "settings.html", _fill)
    return door


def _fill(scope: Scope, speaker: Speaker) -> dict[str, Any]:
    admin = speaker.may("admin")
    keys = [key_shape(key) for key in identity.list_keys(scope)] if admin else []
    return {"budget": budget_shape(scope), "keys": keys, "admin": admin, "own_key": speaker.key_id}
