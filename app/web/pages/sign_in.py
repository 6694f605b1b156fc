"""Sign in and out: a key is exchanged for a session, through the printed address or a form."""

from __future__ import annotations

from flask import Blueprint, Response, redirect, render_template, request, session
from werkzeug.wrappers import Response as AnyResponse

from app.web.http.authorization import start_session
from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from core.errors import RefusedError
from core.identity import Speaker


def exchange_key(dependencies: WebDependencies, raw: str) -> AnyResponse:
    """Start a session for a key and redirect to an address without it."""
    start_session(dependencies.database, raw)
    answer = redirect("/", 303)
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def sign_in_pages(dependencies: WebDependencies) -> Blueprint:
    blueprint = Blueprint("sign_in", __name__)

    @blueprint.get("/sign-in")
    def form() -> str:
        return render_template("sign_in.html", failed=False)

    @blueprint.post("/sign-in")
    def submit() -> AnyResponse:
        # Another site's form must not sign a person in with its own key.
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
            raise RefusedError("sign in on this page itself")
        return exchange_key(dependencies, request.form.get("token", "").strip())

    return blueprint


def sign_out_route(dependencies: WebDependencies) -> Endpoints:
    """Make the route that ends a session. It needs the CSRF token, so that no other site can sign a person out."""
    endpoints = Endpoints(dependencies, "sign_out")

    def leave(speaker: Speaker) -> AnyResponse:
        session.clear()
        return redirect("/sign-in", 303)

    endpoints.serves("POST", "/sign-out", "Forget the session", scope="read")(leave, "sign_out")
    return endpoints


def problem_page(status: int, detail: str) -> Response:
    """Return the page that a browser gets instead of a problem document."""
    if status == 401:
        return Response(render_template("sign_in.html", failed="token" in request.args or bool(request.form)), 401)
    return Response(render_template("refused.html", status=status, detail=detail), status)
