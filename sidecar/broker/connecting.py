"""Connections to checked addresses only, and all of them over at one moment."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from sidecar.broker.addresses import Addresses

_CONNECT_SECONDS = 10.0


class CheckedBackend(httpcore.NetworkBackend):
    """Connects where `addresses` allow, to the very address that was checked; nothing lasts beyond `until`.

    A time limit for each read would let a server that drips go on for ever.
    """

    def __init__(self, addresses: Addresses, until: float) -> None:
        self._addresses = addresses
        self._until = until
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        del timeout, local_address, socket_options
        refused: Exception = httpcore.ConnectError("no address")
        for ip in self._addresses.of(host, port):
            try:
                stream = self._plain.connect_tcp(str(ip), port, min(_CONNECT_SECONDS, _left(self._until)))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refused = error
                continue
            return _BoundedStream(stream, self._until)
        raise refused


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, stream: httpcore.NetworkStream, until: float) -> None:
        self._stream = stream
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        del timeout
        return self._stream.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        del timeout
        self._stream.write(buffer, _left(self._until))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        del timeout
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, _left(self._until)), self._until)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time is over")
    return left
