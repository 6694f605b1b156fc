"""The Flask application of the web process: API, pages, event stream and health."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta

from flask import Blueprint, Flask, Response, jsonify
from sqlalchemy.exc import SQLAlchemyError

from app.asset_addresses import AssetAddresses
from app.session_secret import session_secret
from app.web.api.budget import budget_api
from app.web.api.cards import cards_api
from app.web.api.description import about_api
from app.web.api.events import events_api
from app.web.api.generations import generations_api, signed_routes
from app.web.api.keys import keys_api
from app.web.api.memory import memory_api
from app.web.api.messages import messages_api
from app.web.api.objects import objects_api
from app.web.api.runs import RunOwners, runs_api
from app.web.api.skills import skill_reviews_api, skills_api
from app.web.api.tasks import tasks_api
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.http.inputs import JSON_LIMIT
from app.web.http.problems import register_problems
from app.web.pages.memory import memory_page
from app.web.pages.objects import objects_pages
from app.web.pages.runs import runs_pages
from app.web.pages.settings import settings_page
from app.web.pages.sign_in import problem_page, sign_in_pages, sign_out_route
from app.web.pages.skills import skills_pages
from app.web.pages.tasks import task_pages
from app.web.pages.thread import thread_page, whole_text_route
from app.web.pages.view import prepare_templates
from app.web.stream.hub import Hub

HUB = "loopwright_hub"
_DAYS_SIGNED_IN = 30
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def health_routes(dependencies: WebDependencies) -> Blueprint:
    """Make `/healthz`, and `/readyz`, which answers 503 without a database."""
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def healthz() -> Response:
        return jsonify(status="ok")

    @blueprint.get("/readyz")
    def readyz() -> Response:
        try:
            dependencies.database.workspace_ids()
        except SQLAlchemyError:
            answer = jsonify(status="not ok")
            answer.status_code = 503
            return answer
        return jsonify(status="ok")

    return blueprint


def create_app(dependencies: WebDependencies) -> Flask:
    """Build the application. `hub_of(app).stop()` ends its event streams."""
    app = Flask(__name__)
    secret = session_secret(dependencies.settings.home)
    _configure_app(app, secret, secure=dependencies.settings.web_url.startswith("https://"))
    register_problems(app, problem_page)
    prepare_templates(app)
    hub = Hub(dependencies.database)
    app.extensions[HUB] = hub
    app.register_blueprint(health_routes(dependencies))
    app.register_blueprint(sign_in_pages(dependencies))
    app.register_blueprint(signed_routes(dependencies, AssetAddresses(secret)))
    all_endpoints = _all_endpoints(dependencies, hub)
    rules = [rule for endpoints in all_endpoints for rule in endpoints.rules]
    for endpoints in (*all_endpoints, about_api(dependencies, hub, lambda: rules)):
        app.register_blueprint(endpoints.blueprint)
    app.after_request(_harden)
    return app


def hub_of(app: Flask) -> Hub:
    """Return the hub of an application's event streams."""
    hub = app.extensions[HUB]
    assert isinstance(hub, Hub)
    return hub


def _all_endpoints(dependencies: WebDependencies, hub: Hub) -> Sequence[Endpoints]:
    owners = RunOwners(dependencies)
    return (
        messages_api(dependencies),
        tasks_api(dependencies),
        cards_api(dependencies),
        objects_api(dependencies),
        generations_api(dependencies),
        runs_api(dependencies, owners),
        skills_api(dependencies),
        skill_reviews_api(dependencies),
        memory_api(dependencies),
        budget_api(dependencies),
        keys_api(dependencies),
        events_api(dependencies, hub),
        thread_page(dependencies),
        task_pages(dependencies),
        objects_pages(dependencies),
        skills_pages(dependencies),
        memory_page(dependencies),
        runs_pages(dependencies, owners),
        settings_page(dependencies),
        whole_text_route(dependencies),
        sign_out_route(dependencies),
    )


def _configure_app(app: Flask, secret: str, *, secure: bool) -> None:
    app.config.update(
        SECRET_KEY=secret,
        MAX_CONTENT_LENGTH=JSON_LIMIT,
        # Cookies ignore ports, so several products on one host need different names.
        SESSION_COOKIE_NAME=f"loopwright_{hashlib.sha256(secret.encode()).hexdigest()[:8]}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SECURE=secure,
        SESSION_COOKIE_SAMESITE="Strict",
        SESSION_REFRESH_EACH_REQUEST=False,
        PERMANENT_SESSION_LIFETIME=timedelta(days=_DAYS_SIGNED_IN),
    )
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.json.ensure_ascii = False  # type: ignore[attr-defined]


def _harden(answer: Response) -> Response:
    answer.headers.setdefault("Content-Security-Policy", _PAGE_POLICY)
    answer.headers.setdefault("X-Content-Type-Options", "nosniff")
    answer.headers.setdefault("Referrer-Policy", "same-origin")
    answer.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    answer.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    return answer
