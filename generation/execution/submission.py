"""Submission of an order: send it once under its key, and look it up by that key rather than send it again blindly."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta

from core.database import Scope
from core.errors import InvalidError, LostError, NotFoundError, RefusedError, UnavailableError, UnclearError
from core.events import Bell, GenerationOrdered
from core.process import crash
from generation.approval.price_change import CurrentPrice, ask_at_new_price, read_current_price
from generation.dependencies import GenerationDependencies
from generation.execution.dispute import correct_end, dispute_end
from generation.execution.progress import OrderProgress, read_progress
from generation.orders.billing import claim_of
from generation.orders.end import finish_order
from generation.orders.lease import OrderLease, hold_order_lease
from generation.orders.order import Order, get_order
from generation.orders.states import ENDED_ORDER_STATES, OrderState
from generation.providers.port import (
    NOT_SUPPORTED,
    JobInput,
    JobNews,
    JobRequest,
    JobState,
    NotAcceptedError,
    Provider,
    get_provider,
)
from runtime.statuses import ENDED_TASK_STATUSES
from runtime.tasks import tasks

LOG = logging.getLogger(__name__)
INPUTS_LIFETIME = timedelta(days=2)
LONGEST_WAIT = timedelta(minutes=10)
"""The longest that a busy provider may make an order wait before it is tried again."""


def submit_order(dependencies: GenerationDependencies, workspace_id: str, order_id: str) -> OrderProgress:
    """Submit an order to its provider, and store the job's id.

    An order that may have been sent already is looked up by its key. When the provider does not know it, it is sent
    again under the same key, if the provider honours keys. When the provider cannot look it up or does not honour keys,
    the order becomes unresolved. An order that was asked to be cancelled, or whose task has ended, is looked up but
    not sent. When a busy provider has said how long to wait, the order is not sent before that time.

    Raises BusyError while another execution holds the lease, LostError when another one has taken it over.
    """
    now = read_progress(dependencies.database, workspace_id, order_id, dependencies.settings.poll_seconds)
    if now.state not in (OrderState.ORDERED, OrderState.SUBMITTING):
        return now
    lease_time = timedelta(seconds=dependencies.settings.lease_seconds)
    with hold_order_lease(dependencies.database, workspace_id, order_id, lease_time) as (lease, order):
        if order.state in (OrderState.ORDERED, OrderState.SUBMITTING):
            _Submission(dependencies, workspace_id, lease, order).run()
    return read_progress(dependencies.database, workspace_id, order_id, dependencies.settings.poll_seconds)


class _Submission:
    """Attempt of one execution to submit an order, under its lease."""

    def __init__(
        self, dependencies: GenerationDependencies, workspace_id: str, lease: OrderLease, order: Order
    ) -> None:
        self._dependencies = dependencies
        self._workspace_id = workspace_id
        self._lease = lease
        self._order = order

    def run(self) -> None:
        order = self._order
        maybe_sent = order.state is OrderState.SUBMITTING
        try:
            provider = get_provider(self._dependencies.providers, order.provider)
        except UnavailableError as error:
            self._finish(OrderState.UNRESOLVED if maybe_sent else OrderState.FAILED, str(error))
            return
        if maybe_sent:
            self._recover(provider, send_again=provider.honours_keys)
        else:
            self._send_first(provider)

    def _send_first(self, provider: Provider) -> None:
        """Send an order for the first time. Its inputs are read first: when our own store fails, nothing is sent."""
        try:
            request = self._build_request()
        except NotFoundError as error:
            self._finish(OrderState.FAILED, f"what it should be made from is gone: {error}")
            return
        price: CurrentPrice | UnavailableError
        try:
            price = read_current_price(self._dependencies.capabilities, self._order)
        except InvalidError as error:
            self._finish(OrderState.FAILED, str(error))
            return
        except UnavailableError as error:
            price = error
        if self._mark_submitting(price):
            self._send(provider, request)

    def _mark_submitting(self, price: CurrentPrice | UnavailableError) -> bool:
        """Mark the order as submitting before anything is sent; False when it must not be sent, or not yet.

        It is sent at the agreed price or less. While no price is available, it waits.
        """
        order = self._order
        with self._dependencies.database.transaction(self._workspace_id, "order.submitting") as scope:
            cancel_reason = _cancel_reason(scope, order.id)
            if cancel_reason is not None:
                finish_order(scope, order.id, OrderState.CANCELLED, error=cancel_reason, lease=self._lease)
                return False
            if order.not_before is not None and order.not_before > scope.now:
                return False
            limit = timedelta(seconds=self._dependencies.settings.order_deadline_seconds)
            # Nothing was accepted for so long that trying again is given up.
            if order.error is not None and order.created_at + limit <= scope.now:
                finish_order(scope, order.id, OrderState.FAILED, error=order.error, lease=self._lease)
                return False
            if isinstance(price, UnavailableError):
                self._lease.write(scope, error=str(price), news_at=scope.now)
                return False
            if not price.is_agreed(order):
                ask_at_new_price(scope, self._lease, order, price, self._dependencies.settings.overrun_factor)
                return False
            self._lease.write(
                scope,
                state=OrderState.SUBMITTING,
                deadline=scope.now + limit,
                submitted_at=scope.now,
                news_at=scope.now,
            )
            scope.changed("generation", order.id)
        return True

    def _send(self, provider: Provider, request: JobRequest) -> None:
        try:
            with crash.around("provider.submit"):
                news = provider.submit(request)
        except InvalidError as error:
            self._finish(OrderState.FAILED, str(error))
        except NotAcceptedError as error:
            self._back_to_ordered(str(error), error.wait)
        except RefusedError as error:
            self._finish(OrderState.FAILED, str(error))
        except UnclearError as error:
            LOG.warning("submission unclear", extra={"order_id": self._order.id, "reason": str(error)})
            self._record_trouble(str(error))
            self._recover(provider, send_again=False)
        else:
            self._accept(news)

    def _recover(self, provider: Provider, *, send_again: bool) -> None:
        """Look up whether an earlier submission started a job; with `send_again`, submit once more if it did not."""
        try:
            with crash.around("provider.look_up"):
                found = provider.look_up(self._order.key)
        except UnavailableError as error:
            self._give_up_or_wait(str(error))
            return
        if isinstance(found, JobNews):
            self._accept(found)
        elif found is NOT_SUPPORTED or not provider.honours_keys:
            self._finish(
                OrderState.UNRESOLVED, "it was sent, but no answer came, and the provider cannot be asked about it"
            )
        elif send_again and not self._overdue():
            self._send_again(provider)
        elif (cancel_reason := self._find_cancel_reason()) is not None:
            self._cancel_unsent(cancel_reason)
        else:
            self._give_up_or_wait("the provider does not know it yet")

    def _send_again(self, provider: Provider) -> None:
        try:
            request = self._build_request()
        except NotFoundError as error:
            self._finish(OrderState.FAILED, f"what it should be made from is gone: {error}")
            return
        cancel_reason = self._find_cancel_reason()
        if cancel_reason is None:
            self._send(provider, request)
        else:
            self._cancel_unsent(cancel_reason)

    def _find_cancel_reason(self) -> str | None:
        """Renew the lease, and return why the order is to be cancelled, if it is. Raises LostError."""
        lease_time = timedelta(seconds=self._dependencies.settings.lease_seconds)
        with self._dependencies.database.transaction(self._workspace_id, "order.submitting") as scope:
            self._lease.write(scope, lease_until=scope.now + lease_time)
            return _cancel_reason(scope, self._order.id)

    def _cancel_unsent(self, reason: str) -> None:
        """End an order that is to be cancelled and that its provider, which honours keys, does not know.

        A request that was cut off may still reach the provider. So until one lease time after the submission began,
        an unknown key does not prove that nothing was started.
        """
        order = self._order
        began = order.submitted_at or order.created_at
        lease_time = timedelta(seconds=self._dependencies.settings.lease_seconds)
        if began + lease_time <= self._dependencies.database.clock.now():
            self._finish(OrderState.CANCELLED, reason)
        else:
            self._record_trouble(reason)

    def _accept(self, news: JobNews) -> None:
        outputs = self._store_outputs(news)
        try:
            self._record_job(news, outputs)
        except LostError:
            self._record_late_job(news, outputs)
            raise

    def _record_job(self, news: JobNews, outputs: list[Mapping[str, str]]) -> None:
        order = self._order
        state = OrderState.QUEUED if news.state is JobState.QUEUED else OrderState.RUNNING
        with self._dependencies.database.transaction(self._workspace_id, "order.accepted") as scope:
            self._lease.write(
                scope,
                state=state,
                upstream_id=news.upstream_id,
                progress=news.progress,
                outputs=outputs,
                claim=claim_of(news) if outputs else None,
                error=None,
                submitted_at=scope.now,
                news_at=scope.now,
                lease_token=None,
                lease_until=None,
            )
            scope.changed("generation", order.id)

    def _record_late_job(self, news: JobNews, outputs: list[Mapping[str, str]]) -> None:
        """Record a job whose order ended without it, because this execution lost the lease while it was sending.

        The provider is asked about the job, unless its answer already held the outputs.
        """
        with self._dependencies.database.transaction(self._workspace_id, "order.accepted") as scope:
            order = get_order(scope, self._order.id)
            if order.state not in ENDED_ORDER_STATES or order.upstream_id is not None:
                return
            cause = f"{order.id}:late"
            if not outputs:
                dispute_end(scope, order, cause, upstream_id=news.upstream_id)
                return
            job = {"outputs": outputs, "claim": claim_of(news), "progress": 1.0, "error": None}
            if correct_end(scope, order, {"upstream_id": news.upstream_id, "rung_at": scope.now, **job}):
                scope.ring(Bell(GenerationOrdered(workspace_id=self._workspace_id, order_id=order.id), id=cause))

    def _store_outputs(self, news: JobNews) -> list[Mapping[str, str]]:
        """Store the outputs that came as bytes; the others are fetched when the order is settled."""
        stored: list[Mapping[str, str]] = []
        for output in news.outputs:
            if output.data is not None:
                asset = self._dependencies.assets.put(output.data)
                stored.append({"sha256": asset.sha256, "media_type": asset.media_type, "url": ""})
        return stored

    def _build_request(self) -> JobRequest:
        order = self._order
        inputs = tuple(
            JobInput(item["role"], item["media_type"], item["sha256"], self._dependencies.assets.read(item["sha256"]))
            for item in order.inputs
        )
        return JobRequest(order.key, order.kind, order.model, order.params, inputs, order.created_at + INPUTS_LIFETIME)

    def _overdue(self) -> bool:
        return (
            self._order.state is OrderState.SUBMITTING
            and self._order.deadline <= self._dependencies.database.clock.now()
        )

    def _give_up_or_wait(self, reason: str) -> None:
        """End the order as unresolved when it is overdue; otherwise store the reason and leave it for the next try."""
        if self._overdue():
            self._finish(OrderState.UNRESOLVED, f"its submission was never confirmed: {reason}")
        else:
            self._record_trouble(reason)

    def _back_to_ordered(self, reason: str, wait: timedelta | None) -> None:
        """Set the order back to `ordered`, because the provider certainly accepted nothing."""
        with self._dependencies.database.transaction(self._workspace_id, "order.put_back") as scope:
            self._lease.write(
                scope,
                state=OrderState.ORDERED,
                error=reason,
                submitted_at=None,
                not_before=None if wait is None else scope.now + min(wait, LONGEST_WAIT),
                news_at=scope.now,
            )
            scope.changed("generation", self._order.id)

    def _record_trouble(self, reason: str) -> None:
        with self._dependencies.database.transaction(self._workspace_id, "order.noted") as scope:
            self._lease.write(scope, error=reason, news_at=scope.now)

    def _finish(self, state: OrderState, reason: str) -> None:
        with self._dependencies.database.transaction(self._workspace_id, "order.ended") as scope:
            finish_order(scope, self._order.id, state, error=reason, lease=self._lease)


def _cancel_reason(scope: Scope, order_id: str) -> str | None:
    order = get_order(scope, order_id)
    if order.task_id is not None and tasks.get_task(scope, order.task_id).status in ENDED_TASK_STATUSES:
        return "its task was stopped before the provider had it"
    return None if order.cancel_requested_at is None else "cancelled before the provider had it"
