"""Bells sent through the SDK by a thread, so that no request waits for them."""

from __future__ import annotations

import logging
import queue
import threading

import inngest

from core.events import Bell
from core.process import crash

log = logging.getLogger(__name__)
_MAX_WAITING = 10_000


class InngestBells:
    """Sends bells in order, in one thread per process; drops those that cannot be sent, as the watch rings again."""

    def __init__(self, client: inngest.Inngest) -> None:
        self._client = client
        self._waiting: queue.Queue[Bell] = queue.Queue(_MAX_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ring(self, bell: Bell) -> None:
        try:
            self._waiting.put_nowait(bell)
        except queue.Full:
            log.warning("bell %s dropped: %d are waiting", bell.id, _MAX_WAITING)
            return
        with self._lock:
            # Started by the first bell, since a thread that was started before a fork would be missing in the child.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._send_all, name="bells", daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            self._send(self._waiting.get())

    def _send(self, bell: Bell) -> None:
        event = inngest.Event(name=bell.event.name, data=bell.event.model_dump(mode="json"), id=bell.id)
        try:
            with crash.around("event.send"):
                self._client.send_sync(event)
        except Exception as error:  # noqa: BLE001 - whatever the SDK's transport raises, a bell never fails its cause
            log.warning("bell %s not sent: %s", bell.id, type(error).__name__)
