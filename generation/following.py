"""What a run that follows an order rings for."""

from __future__ import annotations

from core.bells import Bell
from core.database import Database
from core.events import GenerationNews
from generation.orders import get
from generation.watching import ring_again


def ring_if_news(database: Database, workspace_id: str, order_id: str, seen: str, cause: str) -> bool:
    """Ring for the run's own wait when the row already knows more than the run has seen."""
    with database.transaction(workspace_id, "order.followed") as scope:
        order = get(scope, order_id)
        newer = order.news_at.isoformat() != seen or not order.open or order.made
        if newer:
            event = GenerationNews(workspace_id=workspace_id, order_id=order_id)
            scope.ring(Bell(event, id=f"{order_id}:{cause}"))
        return newer


def ring_for_next_run(database: Database, workspace_id: str, order_id: str) -> bool:
    """Hand an order that is still open to a run of its own."""
    with database.transaction(workspace_id, "order.handed_over") as scope:
        order = get(scope, order_id)
        return order.open and ring_again(scope, order)
