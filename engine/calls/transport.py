"""Transport of calls: bodies of limited length, and a connector that tolerates mistakes in HTTP/1.0 answers."""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

from engine.settings import MIB

MAX_ANSWER = 64 * MIB
_HTTP_1_0 = b"HTTP/1.0 "
_END_OF_HEAD = b"\r\n\r\n"
_MAX_HEAD = 65_536
_ENCODING = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*", re.IGNORECASE)


async def read_limited(response: aiohttp.ClientResponse) -> bytes | None:
    """Read the body of a response; None when it is larger than 64 MiB."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_ANSWER:
            return None
        parts.append(chunk)
    return b"".join(parts)


class TolerantConnector(aiohttp.TCPConnector):
    """Ignores `Transfer-Encoding` in HTTP/1.0 answers, where it has no meaning, as the real server does.

    Simple proxies copy that header from the app's answer but send the body unencoded until they close the connection.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: type[ResponseHandler] = _TolerantHandler
        self._factory = functools.partial(handler, loop=asyncio.get_running_loop())


class _TolerantHandler(ResponseHandler):
    """Looks only at the first bytes of a connection, since an HTTP/1.0 server closes it after one answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._head: bytes | None = b""

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            data = self._head + data
            if data.startswith(_HTTP_1_0[: len(data)]) and _END_OF_HEAD not in data and len(data) < _MAX_HEAD:
                self._head = data
                return
            self._head = None
            if data.startswith(_HTTP_1_0):
                head, end, body = data.partition(_END_OF_HEAD)
                data = _ENCODING.sub(b"", head) + end + body
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._head:
            unfinished, self._head = self._head, None
            super().data_received(unfinished)
        super().connection_lost(exc)
