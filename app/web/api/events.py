"""The event stream as an endpoint."""

from __future__ import annotations

from flask import Response, request

from app.web.http.dependencies import WebDependencies
from app.web.http.endpoints import Endpoints
from app.web.stream.hub import Hub
from app.web.stream.reader import Reader
from core.errors import InvalidError
from core.identity import Speaker, speaker_of_key


def events_api(dependencies: WebDependencies, hub: Hub) -> Endpoints:
    endpoints = Endpoints(dependencies, "events_api")

    def get_events(speaker: Speaker) -> Response:
        def may_go_on() -> bool:
            now = speaker_of_key(dependencies.database, speaker.key_id)
            return now is not None and now.may("read")

        reader = Reader(hub, dependencies.database, speaker.workspace_id, _last_id(), may_go_on)
        answer = Response(reader, content_type="text/event-stream; charset=utf-8")
        answer.headers["Cache-Control"] = "no-store"
        answer.headers["X-Accel-Buffering"] = "no"
        answer.call_on_close(reader.close)
        return answer

    endpoints.serves(
        "GET",
        "/api/v1/events",
        "Changes in order, from `Last-Event-ID` (or `last_event_id=`) on",
        scope="read",
        media="text/event-stream",
        query={"last_event_id": "the last change that was seen, where a header cannot be sent"},
    )(get_events, "get_events")
    return endpoints


def _last_id() -> int | None:
    # A reconnecting browser repeats its first address and adds the header, which is newer.
    raw = request.headers.get("Last-Event-ID") or request.args.get("last_event_id")
    if not raw:
        return None
    if not (raw.isascii() and raw.isdigit() and len(raw) <= 18):
        raise InvalidError(f"Last-Event-ID is the number of a change, not {raw[:40]!r}")
    return int(raw)
