"""The web application for a gunicorn with several workers: `gunicorn "tests.support.web_application:make()"`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.compose import compose_dependencies
from app.web import create_app
from core.settings import load_settings

if TYPE_CHECKING:
    from flask import Flask


def make() -> Flask:
    return create_app(compose_dependencies(load_settings()))
