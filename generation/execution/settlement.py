"""Settlement of an order: fetch, check and file its outputs.

Works, charge and wake-up are written in one transaction. A child process with limits (`media_probe`) checks from the
bytes whether an output is what was ordered.
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
from generation.providers.port import JobOutput, get_provider

MEDIA_TYPES: dict[str, frozenset[str]] = {
    "image": frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    "video": frozenset({"video/mp4", "video/webm", "video/quicktime"}),
    "audio": frozenset({"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4", "audio/aac"}),
    "model3d": frozenset({"model/gltf-binary"}),
}
PROBE_SECONDS = 60
MAX_OUTPUT_BYTES = 200 << 20


class _UnusableError(Exception):
    """The output is not what was ordered, or not what the provider announced."""


def settle_order(
    dependencies: GenerationDependencies, file_output: FileOutput, workspace_id: str, order_id: str
) -> OrderProgress:
    """Fetch, check and file the outputs of an order, and end it. Repeating this changes nothing more.

    An output that is empty, broken or of the wrong type fails the order, which is billed as a failure
    (`billing.compute_bill`). Raises BusyError while another execution holds the lease, UnavailableError while the
    provider does not deliver the output. At the order's deadline it becomes unresolved instead, since the output that
    was billed exists and may still arrive.
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
        # The order has ended meanwhile, which took the lease away. So this write raises LostError, and the transaction
        # rolls back the works that were filed above.
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
    """Fetch and store the bytes of an output; raises _UnusableError when they are not what was ordered."""
    if output["url"]:
        provider = get_provider(dependencies.providers, order.provider)
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
    # Only the first output can be the next version of the named work; further ones become new works.
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


def find_media_fault(kind: str, media_type: str, data: bytes) -> str | None:
    """Return why bytes are no work of this kind, or None when they are. `media_type` is detected from the bytes."""
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
