"""Send bells through the SDK in a thread, so that nobody waits for them."""

from __future__ import annotations

import logging
import queue
import threading

import inngest

from core.events import Bell
from core.process import crash

log = logging.getLogger(__name__)
_MOST_WAITING = 10_000


class InngestBells:
    """One thread a process sends what is rung, in order. What cannot be sent is dropped: the watch rings it again."""

    def __init__(self, client: inngest.Inngest) -> None:
        self._client = client
        self._waiting: queue.Queue[Bell] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ring(self, bell: Bell) -> None:
        try:
            self._waiting.put_nowait(bell)
        except queue.Full:
            log.warning("bell %s dropped: %d are waiting", bell.id, _MOST_WAITING)
            return
        with self._lock:
            # Made by the first bell, not at construction: a process that forks must not carry a dead thread along.
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
        except Exception as error:  # noqa: BLE001 - the SDK raises whatever its transport does; a bell never fails its cause
            log.warning("bell %s not sent: %s", bell.id, type(error).__name__)
