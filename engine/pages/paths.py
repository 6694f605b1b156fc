"""Which addresses are pages, and which requests come from them."""

from urllib.parse import urlsplit

from aiohttp import web

ROOT = "/ui"


def is_page(path: str) -> bool:
    """Whether the address belongs to the pages and not to the API."""
    return path in {"/", ROOT} or path.startswith(f"{ROOT}/")


def from_own_origin(request: web.Request) -> bool:
    """Whether the request's `Origin` is the address it was sent to.

    The scheme is left out: behind a proxy that speaks TLS, the engine does not see it.
    """
    try:
        origin = urlsplit(request.headers.get("origin", ""))
    except ValueError:
        return False
    host = request.headers.get("host", "")
    return origin.scheme in {"http", "https"} and bool(host) and origin.netloc.lower() == host.lower()
