"""The hub of all open streams of this process. One thread reads the changes, only while there are readers."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence

from app.web.http.problems import TooManyError
from app.web.stream.frames import Frame, frames_after, newest_seq
from core.database import Database

log = logging.getLogger("loopwright.web")

WINDOW = 512
BATCH = 200


class Feed:
    """A window of consecutive frames of one workspace. The hub guards it with a lock."""

    def __init__(self, seq: int) -> None:
        self._frames: deque[Frame] = deque(maxlen=WINDOW)
        self._before = seq
        self.readers = 0

    @property
    def last(self) -> int:
        """The number of the newest change in the window, or of the one before it if it is empty."""
        return self._frames[-1].seq if self._frames else self._before

    def extend(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if len(self._frames) == WINDOW:
                self._before = self._frames[0].seq
            self._frames.append(frame)

    def covers(self, seq: int) -> bool:
        """Return whether everything after `seq` is still in the window."""
        return seq >= self._before

    def after(self, seq: int) -> list[Frame]:
        """Return the frames after `seq`, which the window must cover."""
        return [frame for frame in self._frames if frame.seq > seq]


class Hub:
    """Gives every stream of a workspace the same frames, in order.

    At most `most` streams: each occupies a thread of the process, and some must stay free for requests.
    """

    def __init__(self, database: Database, *, most: int = 40, pause: float = 0.15) -> None:
        self._database = database
        self._most = most
        self._pause = pause
        self._feeds: dict[str, Feed] = {}
        self._changed = threading.Condition()
        self._open = 0
        self._tailing = False
        self.stopping = False

    @property
    def open_streams(self) -> int:
        return self._open

    def join(self, workspace_id: str) -> None:
        """Register a stream; `leave` must follow. Raise TooManyError if there is no room."""
        with self._changed:
            if self._open >= self._most or self.stopping:
                raise TooManyError(f"{self._open} streams are open here and {self._most} is the most: try again soon")
            self._open += 1
        try:
            seq = self._newest(workspace_id)
        except BaseException:
            with self._changed:
                self._open -= 1
            raise
        with self._changed:
            self._feeds.setdefault(workspace_id, Feed(seq)).readers += 1
            if not self._tailing:
                self._tailing = True
                threading.Thread(target=self._tail, name="stream-tail", daemon=True).start()

    def leave(self, workspace_id: str) -> None:
        with self._changed:
            self._open -= 1
            feed = self._feeds[workspace_id]
            feed.readers -= 1
            if feed.readers == 0:
                del self._feeds[workspace_id]
            self._changed.notify_all()

    def stop(self) -> None:
        """End every stream. Only sets a flag, so that a signal handler may call it."""
        self.stopping = True

    def wait(self, workspace_id: str, seq: int, seconds: float) -> Sequence[Frame] | None:
        """Return frames after `seq`, waiting at most this long; None if the window no longer covers `seq`."""
        with self._changed:
            feed = self._feeds[workspace_id]
            self._changed.wait_for(lambda: self.stopping or feed.last > seq, seconds)
            return feed.after(seq) if feed.covers(seq) else None

    def _newest(self, workspace_id: str) -> int:
        with self._database.reading(workspace_id) as scope:
            return newest_seq(scope)

    def _tail(self) -> None:
        pacing = threading.Event()
        while self._look_everywhere():
            pacing.wait(self._pause)

    def _look_everywhere(self) -> bool:
        """Read the new changes of every feed; return False once there is no feed and the thread may end."""
        with self._changed:
            if self.stopping or not self._feeds:
                self._tailing = False
                self._changed.notify_all()
                return False
            places = {workspace_id: feed.last for workspace_id, feed in self._feeds.items()}
        for workspace_id, seq in places.items():
            self._look(workspace_id, seq)
        return True

    def _look(self, workspace_id: str, seq: int) -> None:
        try:
            with self._database.reading(workspace_id) as scope:
                frames = frames_after(scope, seq, BATCH)
        except Exception:
            # Most likely the database is down; the next read catches up.
            log.warning("the stream cannot read changes", exc_info=True)
            return
        with self._changed:
            feed = self._feeds.get(workspace_id)
            # A feed that was removed and created again meanwhile may be at another place.
            if frames and feed is not None and feed.last == seq:
                feed.extend(frames)
                self._changed.notify_all()
