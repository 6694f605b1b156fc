"""Callbacks of providers: signed news of a job. It only wakes; the provider itself is will_ask what is true."""

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
    """Take a callback in: progress moves forward at once, and any claim of an end rings for a question to the provider.

    Doubled and late callbacks change nothing that is final, and neither does one that contradicts it: it has the
    provider will_ask, a few times in an order's life at most. Raises NotFoundError (unknown provider or
    job; the provider may send it again), RefusedError (signature or age), InvalidError (too long or no job).
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
    """Whether the claim, if it is true, would change what is known.

    A success is final. A failure of ours that had something to look at was judged by its bytes.
    """
    if order.state is OrderState.UNRESOLVED:
        return news.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
    return order.state in CORRECTABLE_STATES and news.state is JobState.SUCCEEDED and not order.outputs


def _callback_cause(order: Order, news: JobNews, body: bytes) -> str:
    return f"{order.id}:{news.sequence if news.sequence is not None else hashlib.sha256(body).hexdigest()[:16]}"


def _find_workspace(database: Database, provider: str, upstream_id: str) -> str | None:
    """The workspace whose order has a job; a callback carries no key, so it is found before any scope is known."""
    query = sa.select(orders.c.workspace_id).where(orders.c.provider == provider, orders.c.upstream_id == upstream_id)
    with database.unscoped() as connection:
        return connection.execute(query.order_by(orders.c.created_at).limit(1)).scalar()
