"""One served web process and its rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from flask import Flask
from werkzeug.serving import make_server

from app.bootstrap import PERSON_ID, WORKSPACE_ID
from app.web import create_app, hub_of
from core.database import Scope
from tests.web.site.checked_client import CheckedClient, checked_client
from tests.web.site.dependencies import SiteDependencies


@dataclass
class Site:
    """`client` speaks as the local person, over HTTP; each of its answers is held against what the site publishes."""

    url: str
    token: str
    dependencies: SiteDependencies
    app: Flask
    client: httpx.Client
    described: CheckedClient
    person_id: str = PERSON_ID
    workspace_id: str = WORKSPACE_ID

    @contextmanager
    def writing(self) -> Iterator[Scope]:
        with self.dependencies.database.transaction(self.workspace_id) as scope:
            yield scope

    def get(self, path: str, **query: str) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, f"GET {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        return self.client.post(path, json={} if body is None else body, headers=headers)

    def say(self, text: str, **more: object) -> str:
        answer = self.post("/api/v1/messages", {"text": text, **more})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["message_id"])


@contextmanager
def served(dependencies: SiteDependencies, token: str) -> Iterator[Site]:
    """Serve these parts on a free port until the block ends."""
    app = create_app(dependencies)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="site", daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    headers = {"Authorization": f"Bearer {token}"}
    client = httpx.Client(base_url=url, headers=headers, timeout=30, trust_env=False, verify=False)
    try:
        published = checked_client(client)
        client.event_hooks["response"].append(published.check)
        yield Site(url, token, dependencies, app, client, published)
    finally:
        client.close()
        hub_of(app).stop()
        server.shutdown()
        thread.join(10)
        server.server_close()
        dependencies.database.close()
