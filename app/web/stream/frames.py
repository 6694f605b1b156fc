"""One change as the bytes of one Server-Sent Event."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.web.presenters.card import card_by_id
from app.web.presenters.generation import generation_by_id
from app.web.presenters.message import message_by_id
from app.web.presenters.notice import notice_by_id
from app.web.presenters.object import object_by_id
from core.database import Scope
from core.errors import NotFoundError
from core.tables import changes

HEARTBEAT = b": still here\n\n"
RETRY = b"retry: 1000\n\n"
LARGEST = 64 * 1024
"""Bytes of a thing that are sent with its change; of a larger one its id is."""

_SMALL: Mapping[str, Callable[[Scope, str], Mapping[str, Any]]] = {
    "message": message_by_id,
    "card": card_by_id,
    "generation": generation_by_id,
    "object": object_by_id,
    "notice": notice_by_id,
}


@dataclass(frozen=True)
class Frame:
    """A change's place in the workspace's order, and what is sent for it."""

    seq: int
    data: bytes


def frames_after(scope: Scope, seq: int, limit: int) -> list[Frame]:
    """The next changes in order. A thing's data is as it stands now, which may be later than the change."""
    query = scope.select(changes.c.seq, changes.c.kind, changes.c.id).where(changes.c.seq > seq)
    shown: dict[tuple[str, str], bytes] = {}
    frames = []
    for row in scope.rows(query.order_by(changes.c.seq).limit(limit)):
        thing = (row.kind, row.id)
        if thing not in shown:
            shown[thing] = _thing_bytes(scope, row.kind, row.id)
        frames.append(
            Frame(row.seq, b"id: %d\nevent: %b.changed\ndata: %b\n\n" % (row.seq, row.kind.encode(), shown[thing]))
        )
    return frames


def reset_frame(seq: int) -> bytes:
    """Tells the reader that it must load everything anew; what follows continues after `seq`."""
    return b'id: %d\nevent: reset\ndata: {"seq": %d}\n\n' % (seq, seq)


def place_frame(seq: int) -> bytes:
    """Tells the reader where it stands before anything happens, so that it misses nothing if the line breaks now."""
    return b"id: %d\n\n" % seq


def newest_seq(scope: Scope) -> int:
    """The number of the last change that is visible."""
    return int(scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq.desc()).limit(1)) or 0)


def oldest_seq(scope: Scope) -> int | None:
    """The number of the first change that is still kept; None when there is none."""
    seq = scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq).limit(1))
    return None if seq is None else int(seq)


def _thing_bytes(scope: Scope, kind: str, thing_id: str) -> bytes:
    data = json.dumps(_thing_data(scope, kind, thing_id), ensure_ascii=False).encode()
    # Every stream gets it at every change, and a window of them is kept for slow readers: whoever wants it can ask.
    return data if len(data) <= LARGEST else json.dumps({"id": thing_id}).encode()


def _thing_data(scope: Scope, kind: str, thing_id: str) -> Mapping[str, Any]:
    show = _SMALL.get(kind)
    if show is None:
        return {"id": thing_id}
    try:
        return show(scope, thing_id)
    except NotFoundError:
        # Deleted since; its reader finds that out by its id.
        return {"id": thing_id}
