"""Callbacks: a provider's word that something changed. It wakes; the provider itself is asked what is true."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

import sqlalchemy as sa

from core.bells import Bell
from core.database import Database, Scope
from core.errors import InvalidError, NotFoundError
from core.events import GenerationNews
from generation.doubting import doubt
from generation.orders import Order, by_upstream, get
from generation.parts import Listening
from generation.polling import move_forward
from generation.provider import JobNews, JobState
from generation.states import AT_PROVIDER, CORRECTED, State
from generation.tables import orders

LOG = logging.getLogger(__name__)
MOST_BYTES = 1 << 20


def record_callback(parts: Listening, provider_name: str, headers: Mapping[str, str], raw_body: bytes) -> Order:
    """Take a callback in: progress moves forward at once, and any claim of an end rings for a question to the provider.

    Doubled and late callbacks change nothing that is final, and neither does one that contradicts it: it has the
    provider asked, a few times in an order's life at most. Raises NotFoundError (unknown provider or
    job; the provider may send it again), RefusedError (signature or age), InvalidError (too long or no job).
    """
    provider = parts.providers.get(provider_name)
    if provider is None:
        raise NotFoundError(f"no provider {provider_name[:40]!r} is set up here")
    if len(raw_body) > MOST_BYTES:
        raise InvalidError(f"a callback has at most {MOST_BYTES} bytes")
    news = provider.verify_callback(headers, raw_body, parts.database.clock.now())
    workspace_id = _workspace_of(parts.database, provider_name, news.upstream_id)
    if workspace_id is None:
        LOG.info("callback for an unknown job", extra={"provider": provider_name})
        raise NotFoundError("no order has this job; if it was just made, send the callback again")
    with parts.database.transaction(workspace_id, "order.called_back") as scope:
        order = by_upstream(scope, provider_name, news.upstream_id)
        if order is None:
            raise NotFoundError("no order has this job")
        _take_in(scope, order, news, cause=_cause(order, news, raw_body))
        return get(scope, order.id)


def _take_in(scope: Scope, order: Order, news: JobNews, cause: str) -> None:
    if order.state in AT_PROVIDER and not order.made:
        if news.state in (JobState.QUEUED, JobState.RUNNING):
            move_forward(scope, order, news)
            return
        mine = scope.update(orders).where(orders.c.id == order.id, orders.c.state.in_(AT_PROVIDER))
        scope.change(mine.values(news_at=scope.now))
        scope.ring(Bell(GenerationNews(workspace_id=scope.workspace_id, order_id=order.id), id=cause))
    elif news.state.value != order.state.value:
        asked = _is_to_be_asked(order, news) and doubt(scope, order, f"{cause}:doubt")
        LOG.info(
            "callback contradicts what is known",
            extra={"order_id": order.id, "said": news.state.value, "is": order.state, "asked": asked},
        )


def _is_to_be_asked(order: Order, news: JobNews) -> bool:
    """Whether the claim, if it is true, would change what is known.

    A success is final. A failure of ours that had something to look at was judged by its bytes.
    """
    if order.state is State.UNRESOLVED:
        return news.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
    return order.state in CORRECTED and news.state is JobState.SUCCEEDED and not order.outputs


def _cause(order: Order, news: JobNews, body: bytes) -> str:
    return f"{order.id}:{news.sequence if news.sequence is not None else hashlib.sha256(body).hexdigest()[:16]}"


def _workspace_of(database: Database, provider: str, upstream_id: str) -> str | None:
    """The workspace whose order has a job; a callback carries no key, so it is found before any scope is known."""
    query = sa.select(orders.c.workspace_id).where(orders.c.provider == provider, orders.c.upstream_id == upstream_id)
    with database.unscoped() as connection:
        return connection.execute(query.order_by(orders.c.created_at).limit(1)).scalar()
