"""Changes as Server-Sent Events, and the numbers of the oldest and newest."""

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
"""Largest data sent with a change, in bytes; of anything larger only the id is sent."""

_SMALL: Mapping[str, Callable[[Scope, str], Mapping[str, Any]]] = {
    "message": message_by_id,
    "card": card_by_id,
    "generation": generation_by_id,
    "object": object_by_id,
    "notice": notice_by_id,
}


@dataclass(frozen=True)
class Frame:
    """A change's number in the workspace and the bytes of its event."""

    seq: int
    data: bytes


def frames_after(scope: Scope, seq: int, limit: int) -> list[Frame]:
    """Return the changes after `seq` in order, with the current data of each thing, which may be newer."""
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
    """Return the event that makes a reader reload everything and continue after `seq`."""
    return b'id: %d\nevent: reset\ndata: {"seq": %d}\n\n' % (seq, seq)


def place_frame(seq: int) -> bytes:
    """Return the first event, which gives the reader its place: it then misses nothing if the connection breaks."""
    return b"id: %d\n\n" % seq


def newest_seq(scope: Scope) -> int:
    """Return the number of the newest visible change; 0 if there is none."""
    return int(scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq.desc()).limit(1)) or 0)


def oldest_seq(scope: Scope) -> int | None:
    """Return the number of the oldest change still stored; None if there is none."""
    seq = scope.scalar(scope.select(changes.c.seq).order_by(changes.c.seq).limit(1))
    return None if seq is None else int(seq)


def _thing_bytes(scope: Scope, kind: str, thing_id: str) -> bytes:
    data = json.dumps(_thing_data(scope, kind, thing_id), ensure_ascii=False).encode()
    # Every stream gets these bytes at every change, and the feed keeps many of them; readers can request large ones.
    return data if len(data) <= LARGEST else json.dumps({"id": thing_id}).encode()


def _thing_data(scope: Scope, kind: str, thing_id: str) -> Mapping[str, Any]:
    show = _SMALL.get(kind)
    if show is None:
        return {"id": thing_id}
    try:
        return show(scope, thing_id)
    except NotFoundError:
        # Deleted since. A reader that requests it gets a 404.
        return {"id": thing_id}
