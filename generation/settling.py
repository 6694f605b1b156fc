"""Settling: what was made comes home. One work, one charge, one wake-up, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from core import crash
from core.database import Scope
from core.errors import InvalidError, NotFoundError, RefusedError, UnavailableError
from generation.checking import fault_of
from generation.finishing import finish
from generation.lease import Hold, holding
from generation.orders import Order
from generation.parts import FileOutput, Parts, StoredBytes
from generation.progress import Progress, look
from generation.provider import JobOutput
from generation.states import State

MOST_BYTES = 200 << 20


class _UnusableError(Exception):
    """What came is no work of the ordered kind."""


def settle(parts: Parts, file_output: FileOutput, workspace_id: str, order_id: str) -> Progress:
    """Fetch, check and file what an order's job made, and end the order; again and again it changes nothing more.

    An output that is empty, mistyped or broken fails the order, which is charged what a failure is (`billing.bill`).
    Raises BusyError while another execution lives, UnavailableError while the provider does not hand the output out,
    until the order's deadline: then the order is unresolved, since what was billed for is there and may still come.
    """
    now = look(parts.database, workspace_id, order_id, parts.settings.poll_seconds)
    if now.next != "settle":
        return now
    lease = timedelta(seconds=parts.settings.lease_seconds)
    with holding(parts.database, workspace_id, order_id, lease) as (hold, order):
        if order.made:
            _settle(parts, file_output, workspace_id, hold, order)
    return look(parts.database, workspace_id, order_id, parts.settings.poll_seconds)


def _settle(parts: Parts, file_output: FileOutput, workspace_id: str, hold: Hold, order: Order) -> None:
    try:
        assets = [_bring_home(parts, order, output) for output in order.outputs]
    except (_UnusableError, InvalidError, NotFoundError, RefusedError) as error:
        _end(parts, workspace_id, hold, State.FAILED, str(error), order.claim)
        return
    except UnavailableError as error:
        if order.deadline > parts.database.clock.now():
            raise
        _end(parts, workspace_id, hold, State.UNRESOLVED, str(error), order.claim)
        return
    with parts.database.transaction(workspace_id, "order.settled") as scope:
        works = [_file(scope, file_output, order, n, asset) for n, asset in enumerate(assets)]
        if finish(
            scope, order.id, State.SUCCEEDED, claim=order.claim, object_ids=list(dict.fromkeys(works)), hold=hold
        ):
            return
        # Somebody else has ended the order: what was filed above goes with this transaction.
        hold.write(scope, lease_token=None)


def _end(parts: Parts, workspace_id: str, hold: Hold, state: State, reason: str, claim: str | None) -> None:
    with parts.database.transaction(workspace_id, "order.ended") as scope:
        finish(scope, hold.order_id, state, error=reason, claim=claim, hold=hold)


def _bring_home(parts: Parts, order: Order, output: Mapping[str, Any]) -> StoredBytes:
    """Store the bytes of an output once they are seen to be what was ordered."""
    if output["url"]:
        provider = parts.providers.get(order.provider)
        if provider is None:
            raise UnavailableError(f"the provider {order.provider!r} is not set up here; see LOOPWRIGHT_GENERATORS")
        announced = JobOutput(output["media_type"], url=output["url"], sha256=output["sha256"])
        with crash.around("provider.fetch"):
            data = provider.fetch(announced, MOST_BYTES)
    else:
        data = parts.assets.read(output["sha256"])
    with crash.around("assets.put"):
        asset = parts.assets.put(data)
    if output["sha256"] and asset.sha256 != output["sha256"].lower():
        raise _UnusableError("the provider's output is not the one that it announced: its hash differs")
    fault = fault_of(order.kind, asset.media_type, data)
    if fault is not None:
        raise _UnusableError(fault)
    return asset


def _file(scope: Scope, file_output: FileOutput, order: Order, n: int, asset: StoredBytes) -> str:
    title = order.title if len(order.outputs) == 1 else f"{order.title} ({n + 1})"
    # Only the first output can be the next version of the work that was named; further ones are works of their own.
    target = order.object_id if n == 0 else None
    work = file_output(
        scope,
        kind=order.kind,
        title=title,
        asset=asset,
        task_id=order.task_id,
        cause=f"{order.id}:{n}",
        recipe={
            "order_id": order.id,
            "provider": order.provider,
            "model": order.model,
            "params": dict(order.params),
            "inputs": [dict(item) for item in order.inputs],
        },
        object_id=target,
        base_version=order.base_version if target else None,
    )
    return work.id
