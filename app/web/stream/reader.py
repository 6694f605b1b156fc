"""The stream of one reader: what it missed, then new changes, each once and in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from app.web.stream.frames import (
    HEARTBEAT,
    RETRY,
    Frame,
    frames_after,
    newest_seq,
    oldest_seq,
    place_frame,
    reset_frame,
)
from app.web.stream.hub import BATCH, Hub
from core.database import Database

HEARTBEAT_SECONDS = 5.0
STILL_VALID_SECONDS = 10.0
LONGEST_REPLAY = 20_000


class Reader:
    """A stream as an iterator of bytes. `close` leaves the hub; it may be called more than once."""

    def __init__(
        self,
        hub: Hub,
        database: Database,
        workspace_id: str,
        last_id: int | None,
        may_go_on: Callable[[], bool],
    ) -> None:
        self._hub = hub
        self._database = database
        self._workspace_id = workspace_id
        self._may_go_on = may_go_on
        self._joined = True
        hub.join(workspace_id)
        try:
            self._seq, self._reset = self._start(last_id)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield RETRY
            yield reset_frame(self._seq) if self._reset else place_frame(self._seq)
            checked_at = time.monotonic()
            while not self._hub.stopping:
                frames = self._next()
                for frame in frames:
                    yield frame.data
                    self._seq = frame.seq
                if not frames:
                    yield HEARTBEAT
                if time.monotonic() - checked_at > STILL_VALID_SECONDS:
                    checked_at = time.monotonic()
                    if not self._may_go_on():
                        return
        finally:
            self.close()

    def close(self) -> None:
        if self._joined:
            self._joined = False
            self._hub.leave(self._workspace_id)

    def _next(self) -> list[Frame]:
        frames = self._hub.wait(self._workspace_id, self._seq, HEARTBEAT_SECONDS)
        if frames is not None:
            return list(frames)
        # This reader is behind the shared window, so it reads from the table.
        with self._database.reading(self._workspace_id) as scope:
            return frames_after(scope, self._seq, BATCH)

    def _start(self, last_id: int | None) -> tuple[int, bool]:
        """Return the number after which the stream begins, and whether the reader must reload everything."""
        with self._database.reading(self._workspace_id) as scope:
            newest, oldest = newest_seq(scope), oldest_seq(scope)
        if last_id is None:
            return newest, False
        pruned = oldest is not None and last_id < oldest - 1
        # A number above the newest comes from another database, such as the one before a restore.
        if pruned or last_id > newest or newest - last_id > LONGEST_REPLAY:
            return newest, True
        return last_id, False
