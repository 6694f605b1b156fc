"""Reading what others answer, which may be of any length."""

import aiohttp

from engine.settings import MIB

MAX_ANSWER = 64 * MIB


async def read_limited(response: aiohttp.ClientResponse) -> bytes | None:
    """The body; None when it is larger than 64 MiB."""
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MAX_ANSWER:
            return None
        parts.append(chunk)
    return b"".join(parts)
