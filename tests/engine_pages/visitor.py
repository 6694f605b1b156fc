"""Someone who looks at an engine's pages, with a cookie jar and without JavaScript."""

from __future__ import annotations

import html
import re
from typing import Any

import httpx

from tests.engine.engine_process import EngineProcess


class Visitor:
    """Follows no redirects by itself."""

    def __init__(self, engine: EngineProcess) -> None:
        self.client = httpx.Client(base_url=engine.url, timeout=30)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.client.get(path, headers=_named(headers))

    def text(self, path: str) -> str:
        """The page as it is written, which must be one."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return answer.text

    def words(self, path: str) -> str:
        """What a person reads on the page."""
        return _words(self.text(path))

    def token(self) -> str:
        found = re.search(r'name="engine-token" content="(\w+)"', self.text("/ui/events/new"))
        assert found is not None
        return found[1]

    def press(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        """As a page's button does it."""
        told = {"X-Engine-Token": self.token(), **_named(headers)}
        return self.client.post(path, json=body, headers=told)

    def sign_in(self, key: str, onward: str = "") -> httpx.Response:
        return self.client.post("/ui/sign-in", data={"key": key, "next": onward})

    def close(self) -> None:
        self.client.close()


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _words(page: str) -> str:
    body = re.sub(r"<(svg|script|head)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
