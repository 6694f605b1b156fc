"""Settlement of an order: outputs are fetched, checked and filed.

One work, one charge and one wake-up, in one transaction. Whether an output is what was
ordered is judged by its bytes, in a child process with limits (`media_probe`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from core.database import Scope
from core.errors import InvalidError, NotFoundError, RefusedError, UnavailableError
from core.process import crash
from generation.dependencies import FileOutput, GenerationDependencies, StoredBytes
from generation.execution import media_probe
from generation.execution.progress import OrderProgress, read_progress
from generation.orders.end import finish_order
from generation.orders.lease import OrderLease, hold_order_lease
from generation.orders.order import Order
from generation.orders.states import OrderState
from generation.providers.port import JobOutput

MEDIA_TYPES: dict[str, frozenset[str]] = {
    "image": frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    "video": frozenset({"video/mp4", "video/webm", "video/quicktime"}),
    "audio": frozenset({"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/aac"}),
    "model3d": frozenset({"model/gltf-binary"}),
}
PROBE_SECONDS = 60


def find_media_fault(kind: str, media_type: str, data: bytes) -> str | None:
    """Why bytes are no work of this kind, or None when they are one. `media_type` is what they look like."""
    if not data:
        return "the provider's output is empty"
    if media_type not in MEDIA_TYPES[kind]:
        return f"the provider's output is {media_type}, not {kind}"
    return _decoding_fault(kind, data)


def _decoding_fault(kind: str, data: bytes) -> str | None:
    program = [sys.executable, "-I", str(Path(media_probe.__file__)), kind]
    try:
        done = subprocess.run(program, input=data, capture_output=True, timeout=PROBE_SECONDS, check=False, env={})
    except subprocess.TimeoutExpired:
        return f"the provider's output takes more than {PROBE_SECONDS} s to decode"
    if done.returncode == 0:
        return None
    reason = done.stderr.decode(errors="replace")[-300:] or f"the decoder ended with {done.returncode}"
    return f"the provider's output cannot be decoded: {reason}"


MAX_OUTPUT_BYTES = 200 << 20


class _UnusableError(Exception):
    """What came is no work of the ordered kind."""


def settle_order(
    dependencies: GenerationDependencies, file_output: FileOutput, workspace_id: str, order_id: str
) -> OrderProgress:
    """Fetch, check and file what an order's job made, and end the order; again and again it changes nothing more.

    An output that is empty, mistyped or broken fails the order, which is charged what a failure is (`billing.bill`).
    Raises BusyError while another execution lives, UnavailableError while the provider does not hand the output out,
    until the order's deadline: then the order is unresolved, since what was billed for is there and may still come.
    """
    now = read_progress(dependencies.database, workspace_id, order_id, dependencies.settings.poll_seconds)
    if now.next != "settle":
        return now
    lease_time = timedelta(seconds=dependencies.settings.lease_seconds)
    with hold_order_lease(dependencies.database, workspace_id, order_id, lease_time) as (lease, order):
        if order.has_outputs_to_settle:
            _settle_outputs(dependencies, file_output, workspace_id, lease, order)
    return read_progress(dependencies.database, workspace_id, order_id, dependencies.settings.poll_seconds)


def _settle_outputs(
    dependencies: GenerationDependencies, file_output: FileOutput, workspace_id: str, lease: OrderLease, order: Order
) -> None:
    try:
        assets = [_store_output(dependencies, order, output) for output in order.outputs]
    except (_UnusableError, InvalidError, NotFoundError, RefusedError) as error:
        _end_order(dependencies, workspace_id, lease, OrderState.FAILED, str(error), order.claim)
        return
    except UnavailableError as error:
        if order.deadline > dependencies.database.clock.now():
            raise
        _end_order(dependencies, workspace_id, lease, OrderState.UNRESOLVED, str(error), order.claim)
        return
    with dependencies.database.transaction(workspace_id, "order.settled") as scope:
        works = [_file_work(scope, file_output, order, n, asset) for n, asset in enumerate(assets)]
        if finish_order(
            scope, order.id, OrderState.SUCCEEDED, claim=order.claim, object_ids=list(dict.fromkeys(works)), lease=lease
        ):
            return
        # Somebody else has ended the order: what was filed above goes with this transaction.
        lease.write(scope, lease_token=None)


def _end_order(
    dependencies: GenerationDependencies,
    workspace_id: str,
    lease: OrderLease,
    state: OrderState,
    reason: str,
    claim: str | None,
) -> None:
    with dependencies.database.transaction(workspace_id, "order.ended") as scope:
        finish_order(scope, lease.order_id, state, error=reason, claim=claim, lease=lease)


def _store_output(dependencies: GenerationDependencies, order: Order, output: Mapping[str, Any]) -> StoredBytes:
    """Store the bytes of an output once they are seen to be what was ordered."""
    if output["url"]:
        provider = dependencies.providers.get(order.provider)
        if provider is None:
            raise UnavailableError(f"the provider {order.provider!r} is not set up here; see LOOPWRIGHT_GENERATORS")
        announced = JobOutput(output["media_type"], url=output["url"], sha256=output["sha256"])
        with crash.around("provider.fetch"):
            data = provider.fetch(announced, MAX_OUTPUT_BYTES)
    else:
        data = dependencies.assets.read(output["sha256"])
    with crash.around("assets.put"):
        asset = dependencies.assets.put(data)
    if output["sha256"] and asset.sha256 != output["sha256"].lower():
        raise _UnusableError("the provider's output is not the one that it announced: its hash differs")
    fault = find_media_fault(order.kind, asset.media_type, data)
    if fault is not None:
        raise _UnusableError(fault)
    return asset


def _file_work(scope: Scope, file_output: FileOutput, order: Order, n: int, asset: StoredBytes) -> str:
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
