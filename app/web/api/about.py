"""What the API says about itself: its description and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sqlalchemy as sa
from flask import Response, jsonify

from app.web.description import Description, description
from app.web.endpoints import Door, Rule
from app.web.parts import WebParts
from app.web.stream.hub import Hub
from core.database import Scope
from core.identity import Speaker
from core.tables import changes
from generation.tables import orders
from runtime.tables import cards, tasks, turns

_COUNT = sa.func.count().label("count")
_COUNTED = (
    ("loopwright_tasks", "Tasks by status", tasks.c.status),
    ("loopwright_turns", "Turns by status", turns.c.status),
    ("loopwright_cards", "Cards by state", cards.c.state),
    ("loopwright_generations", "Generations by state", orders.c.state),
)


def about_api(parts: WebParts, hub: Hub, rules: Callable[[], Sequence[Rule]]) -> Door:
    door = Door(parts, "about_api")

    def openapi(speaker: Speaker) -> Response:
        return jsonify(description([rule for rule in rules() if rule.path.startswith("/api/")]))

    def metrics(speaker: Speaker) -> Response:
        with parts.database.reading(speaker.workspace_id) as scope:
            text = numbers(scope, hub.open_streams)
        return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")

    door.serves("GET", "/api/v1/openapi.json", "This description", scope="read", answers=Description)(
        openapi, "openapi"
    )
    door.serves("GET", "/metrics", "Numbers of the workspace, for Prometheus", scope="read", media="text/plain")(
        metrics, "metrics"
    )
    return door


def numbers(scope: Scope, open_streams: int) -> str:
    """Prometheus text."""
    lines = []
    for name, help_text, state in _COUNTED:
        lines += [f"# HELP {name} {help_text}.", f"# TYPE {name} gauge"]
        counted = scope.rows(scope.select(state.label("state"), _COUNT).group_by(state).order_by(state))
        lines += [f'{name}{{state="{row.state}"}} {row._mapping["count"]}' for row in counted]
    newest = scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq.desc()).limit(1)) or 0
    lines += ["# HELP loopwright_changes_total Changes of the workspace.", "# TYPE loopwright_changes_total counter"]
    lines += [f"loopwright_changes_total {newest}"]
    lines += ["# HELP loopwright_streams Open event streams of this process.", "# TYPE loopwright_streams gauge"]
    return "\n".join([*lines, f"loopwright_streams {open_streams}", ""])
