"""Following the workspace's changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import click
import httpx

from app.cli.api import Api, Refused

# Longer than the pause between two heartbeats of the stream.
_SILENCE_SECONDS = 30.0
_RECONNECT_SECONDS = 1.0
_PATH = "/api/v1/events"


@dataclass
class ChangeStream:
    """Wakes its reader at every change, over restarts of the server, from `last_id` on."""

    api: Api
    last_id: str | None = None

    def wakes(self, seconds: float) -> Iterator[None]:
        """Yield at once, then whenever something may have changed; end after so many seconds.

        The reader looks for itself: a wake says nothing, so that a lost one costs a pause and no truth.
        """
        deadline = time.monotonic() + seconds
        yield
        while time.monotonic() < deadline:
            try:
                with self.api.stream(_PATH, self.last_id, _SILENCE_SECONDS) as lines:
                    # What changed while there was no stream.
                    yield
                    yield from self._changes(lines, deadline)
            except httpx.TransportError:
                pass
            except Refused as refused:
                if refused.status != 503:
                    raise
            time.sleep(_RECONNECT_SECONDS)
            yield

    def _changes(self, lines: Iterator[str], deadline: float) -> Iterator[None]:
        for line in lines:
            if line.startswith("id:"):
                self.last_id = line.removeprefix("id:").strip()
            elif not line:
                yield
            if time.monotonic() >= deadline:
                return


def out_of_time(seconds: float) -> click.ClickException:
    return click.ClickException(f"still at work after {seconds:.0f} s; look again with `loopwright tasks`")
