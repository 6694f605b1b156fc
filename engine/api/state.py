"""State that all handlers share, and the JSON reply."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from aiohttp import web
from sqlalchemy import Connection

from engine.dispatcher import Dispatcher
from engine.formats.json_text import dumps

T = TypeVar("T")


@dataclass(frozen=True)
class ApiState:
    """The dispatcher and the keys of the engine; `kind` is `cloud` with keys, `dev` without, as SDKs call it."""

    dispatcher: Dispatcher
    signing_keys: tuple[str, ...]
    event_keys: tuple[str, ...]

    @property
    def kind(self) -> str:
        return "cloud" if self.signing_keys else "dev"

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query in a thread."""
        return await asyncio.to_thread(self.dispatcher.database.read, query)


STATE = web.AppKey("state", ApiState)


def state_of(request: web.Request) -> ApiState:
    """Return the state of the application that handles the request."""
    return request.app[STATE]


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Make a JSON response."""
    return web.Response(body=dumps(value).encode(), status=status, content_type="application/json", headers=headers)
