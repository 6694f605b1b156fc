"""Polls of the provider about a job. Errors and unknown states never count as success; they end at the deadline."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any, assert_never

from core.database import Scope
from core.errors import UnavailableError
from core.process import crash
from generation.dependencies import GenerationDependencies
from generation.execution.dispute import close_dispute, correct_end, count_unknown_job
from generation.execution.progress import OrderProgress, progress_of, read_progress
from generation.execution.submission import submit_order
from generation.orders.billing import claim_of
from generation.orders.end import finish_order
from generation.orders.order import Order, get_order
from generation.orders.states import CORRECTABLE_STATES, FINAL_ORDER_STATES, PROVIDER_STATES, OrderState, states_before
from generation.providers.port import JobLostError, JobNews, JobState, NotSupported, get_provider
from generation.tables import orders

LOG = logging.getLogger(__name__)
LOST_AFTER = timedelta(seconds=30)
"""How long a job that the provider does not know may still be on its way to it."""
LOST_TIMES = 3
"""How often in a row the provider must say that it does not know a job before the job counts as lost."""


def poll_order(dependencies: GenerationDependencies, workspace_id: str, order_id: str) -> OrderProgress:
    """Ask the provider once and store what is new; submit an order that the provider has not accepted yet.

    An error is stored as the order's `error` while it lasts. Past its deadline the order becomes unresolved, with the
    last reason. Two executions may ask at the same time, since what they store only moves forward. An order that has
    ended is polled while it is unresolved, or once for each dispute about its end.
    """
    with dependencies.database.reading(workspace_id) as scope:
        order = get_order(scope, order_id)
    if order.state in (OrderState.ORDERED, OrderState.SUBMITTING):
        return submit_order(dependencies, workspace_id, order_id)
    if order.has_outputs_to_settle or (order.state in FINAL_ORDER_STATES and order.doubted_at is None):
        return read_progress(dependencies.database, workspace_id, order_id, dependencies.settings.poll_seconds)
    try:
        with crash.around("provider.ask"):
            news = _ask_provider(dependencies, order)
    except (UnavailableError, JobLostError) as error:
        return _record_failed_poll(dependencies, workspace_id, order, error)
    return record_job_news(dependencies, workspace_id, order, news)


def record_job_news(
    dependencies: GenerationDependencies, workspace_id: str, order: Order, news: JobNews
) -> OrderProgress:
    """Store what the provider answered about a job; the order only moves forward."""
    with dependencies.database.transaction(workspace_id, "order.news") as scope:
        overdue = order.deadline <= scope.now
        match news.state:
            case JobState.SUCCEEDED if news.outputs:
                _store_outputs(scope, order, news)
            case JobState.SUCCEEDED:
                nothing = "the provider says done and shows nothing that it made"
                finish_order(scope, order.id, OrderState.FAILED, error=nothing, claim=claim_of(news))
            case JobState.FAILED:
                finish_order(
                    scope, order.id, OrderState.FAILED, error=news.error or "the provider failed", claim=claim_of(news)
                )
            case JobState.CANCELLED:
                reason = _why_cancelled(order, news) if overdue else news.error or None
                finish_order(scope, order.id, OrderState.CANCELLED, error=reason, claim=claim_of(news))
            case JobState.QUEUED | JobState.RUNNING | JobState.UNKNOWN if order.state in CORRECTABLE_STATES:
                # The job may still make and bill something, so the order has not ended after all.
                # A job that still works for a cancelled order is to be cancelled at the provider.
                requested = scope.now if order.state is OrderState.CANCELLED else None
                still = {
                    "upstream_id": news.upstream_id,
                    "cancel_requested_at": order.cancel_requested_at or requested,
                }
                correct_end(scope, order, still)
            case JobState.QUEUED | JobState.RUNNING | JobState.UNKNOWN if overdue:
                reason = news.error or f"still {news.state.value} at its deadline"
                finish_order(scope, order.id, OrderState.UNRESOLVED, error=reason)
            case JobState.QUEUED | JobState.RUNNING:
                advance_order(scope, order, news)
                _store_poll(scope, order, None)
            case JobState.UNKNOWN:
                _store_poll(scope, order, news.error)
            case _:
                assert_never(news.state)
        # The provider has answered, and an order that is unresolved now is polled without a dispute. This comes last,
        # because ending an order locks the task's row before the order's.
        close_dispute(scope, order)
        return _progress_after(scope, dependencies, order)


def advance_order(scope: Scope, order: Order, news: JobNews) -> bool:
    """Store the progress of a job that has not ended: queued may become running, and progress may grow."""
    state = OrderState(news.state.value)
    allowed = [state.value, *(earlier.value for earlier in states_before(state) if earlier in PROVIDER_STATES)]
    update = scope.update(orders).where(orders.c.id == order.id, orders.c.state.in_(PROVIDER_STATES))
    grown = scope.change(
        update.where(orders.c.state.in_(allowed), orders.c.progress <= news.progress).values(
            state=state, progress=news.progress, lost=0
        )
    )
    if grown and (news.progress != order.progress or state is not order.state):
        scope.changed("generation", order.id)
    return grown == 1


def _ask_provider(dependencies: GenerationDependencies, order: Order) -> JobNews:
    """Ask the provider about the job: by its id, or by the order's key while no id is known.

    When the order is overdue or to be cancelled, the provider is asked to cancel the job.
    """
    provider = get_provider(dependencies.providers, order.provider)
    if order.upstream_id is None:
        found = provider.look_up(order.key)
        if not isinstance(found, JobNews):
            raise JobLostError(order.error or "the provider cannot be asked about it")
        return found
    overdue = order.state is not OrderState.FAILED and order.deadline <= dependencies.database.clock.now()
    if order.cancel_requested_at is not None or overdue or order.state is OrderState.CANCELLED:
        answer = provider.cancel(order.upstream_id)
        if not isinstance(answer, NotSupported):
            return answer
    return provider.status(order.upstream_id)


def _why_cancelled(order: Order, news: JobNews) -> str:
    last = news.error or order.error
    return "it was not done by its deadline, so it was cancelled" + (f"; the last trouble was: {last}" if last else "")


def _store_outputs(scope: Scope, order: Order, news: JobNews) -> None:
    outputs = [{"url": one.url, "media_type": one.media_type, "sha256": one.sha256} for one in news.outputs]
    values: dict[str, Any] = {
        "outputs": outputs,
        "claim": claim_of(news),
        "progress": 1.0,
        "error": None,
        "news_at": scope.now,
    }
    update = scope.update(orders).where(orders.c.id == order.id)
    if scope.change(update.where(orders.c.state.in_(PROVIDER_STATES)).values(state=OrderState.RUNNING, **values)):
        scope.changed("generation", order.id)
    else:
        correct_end(scope, order, {"upstream_id": news.upstream_id, **values})


def _store_poll(scope: Scope, order: Order, error: str | None, lost: int = 0) -> None:
    """Store that we asked, and the error if there was one, unless newer news came meanwhile."""
    update = scope.update(orders).where(orders.c.id == order.id, orders.c.news_at == order.news_at)
    scope.change(
        update.where(orders.c.state.in_(PROVIDER_STATES)).values(
            error=error and error[:1000], lost=lost, news_at=scope.now
        )
    )


def _record_failed_poll(
    dependencies: GenerationDependencies, workspace_id: str, order: Order, error: UnavailableError | JobLostError
) -> OrderProgress:
    """Store that the provider did not answer, or does not know the job.

    The order becomes unresolved when it is overdue, or when the job counts as lost.
    """
    LOG.info("no news of an order", extra={"order_id": order.id, "reason": str(error)})
    now = dependencies.database.clock.now()
    unknown = isinstance(error, JobLostError)
    times_unknown = order.lost + unknown
    lost = unknown and times_unknown >= LOST_TIMES and now - (order.submitted_at or order.created_at) > LOST_AFTER
    with dependencies.database.transaction(workspace_id, "order.trouble") as scope:
        if unknown and not order.open:
            count_unknown_job(scope, order, last=lost)
        if order.open and (lost or order.deadline <= now):
            finish_order(scope, order.id, OrderState.UNRESOLVED, error=f"{error} (job {order.upstream_id})")
        else:
            _store_poll(scope, order, str(error), times_unknown)
        return _progress_after(scope, dependencies, order)


def _progress_after(scope: Scope, dependencies: GenerationDependencies, before: Order) -> OrderProgress:
    after = get_order(scope, before.id)
    # News that came while we asked is newer than the answer, so the run must still see it as new.
    unseen = after.open and after.news_at != scope.now
    return progress_of(after, scope.now, dependencies.settings.poll_seconds, before.news_at if unseen else None)
