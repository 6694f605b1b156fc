"""Callbacks of providers: signed news of a job. They never end an order; they only make us ask the provider."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping

import sqlalchemy as sa

from core.database import Database, Scope
from core.errors import InvalidError, NotFoundError
from core.events import Bell, GenerationNews
from generation.dependencies import CallbackDependencies
from generation.execution.dispute import dispute_end
from generation.execution.poll import advance_order
from generation.orders.order import Order, find_order_by_job, get_order
from generation.orders.states import CORRECTABLE_STATES, PROVIDER_STATES, OrderState
from generation.providers.port import JobNews, JobState
from generation.tables import orders

LOG = logging.getLogger(__name__)
MAX_CALLBACK_BYTES = 1 << 20


def record_callback(
    dependencies: CallbackDependencies, provider_name: str, headers: Mapping[str, str], raw_body: bytes
) -> Order:
    """Record a callback, and return its order.

    Progress is stored directly. A reported end only rings a bell, so that the provider is asked. Repeated and late
    callbacks change no final state. One that contradicts a final state makes us ask the provider, at most a few times
    for each order.

    Raises NotFoundError (unknown provider or job; the provider may send it again), RefusedError (signature or age),
    InvalidError (too long, or no job).
    """
    provider = dependencies.providers.get(provider_name)
    if provider is None:
        raise NotFoundError(f"no provider {provider_name[:40]!r} is set up here")
    if len(raw_body) > MAX_CALLBACK_BYTES:
        raise InvalidError(f"a callback has at most {MAX_CALLBACK_BYTES} bytes")
    news = provider.verify_callback(headers, raw_body, dependencies.database.clock.now())
    workspace_id = _find_workspace(dependencies.database, provider_name, news.upstream_id)
    if workspace_id is None:
        LOG.info("callback for an unknown job", extra={"provider": provider_name})
        raise NotFoundError("no order has this job; if it was just made, send the callback again")
    with dependencies.database.transaction(workspace_id, "order.called_back") as scope:
        order = find_order_by_job(scope, provider_name, news.upstream_id)
        if order is None:
            raise NotFoundError("no order has this job")
        _apply_news(scope, order, news, cause=_callback_cause(order, news, raw_body))
        return get_order(scope, order.id)


def _apply_news(scope: Scope, order: Order, news: JobNews, cause: str) -> None:
    if order.state in PROVIDER_STATES and not order.has_outputs_to_settle:
        if news.state in (JobState.QUEUED, JobState.RUNNING):
            advance_order(scope, order, news)
            return
        update = scope.update(orders).where(orders.c.id == order.id, orders.c.state.in_(PROVIDER_STATES))
        scope.change(update.values(news_at=scope.now))
        scope.ring(Bell(GenerationNews(workspace_id=scope.workspace_id, order_id=order.id), id=cause))
    elif news.state.value != order.state.value:
        will_ask = _is_dispute(order, news) and dispute_end(scope, order, f"{cause}:doubt")
        LOG.info(
            "callback contradicts what is known",
            extra={"order_id": order.id, "said": news.state.value, "is": order.state, "asked": will_ask},
        )


def _is_dispute(order: Order, news: JobNews) -> bool:
    """Tell whether the callback, if it is true, would change the end of the order.

    A success is final. So is a failure with outputs, because we judged their bytes ourselves.
    """
    if order.state is OrderState.UNRESOLVED:
        return news.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
    return order.state in CORRECTABLE_STATES and news.state is JobState.SUCCEEDED and not order.outputs


def _callback_cause(order: Order, news: JobNews, body: bytes) -> str:
    return f"{order.id}:{news.sequence if news.sequence is not None else hashlib.sha256(body).hexdigest()[:16]}"


def _find_workspace(database: Database, provider: str, upstream_id: str) -> str | None:
    """Return the workspace whose order has this job. A callback names no workspace, so this reads outside any scope."""
    query = sa.select(orders.c.workspace_id).where(orders.c.provider == provider, orders.c.upstream_id == upstream_id)
    with database.unscoped() as connection:
        return connection.execute(query.order_by(orders.c.created_at).limit(1)).scalar()
