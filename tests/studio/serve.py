"""The studio as the product runs it: gunicorn, one process with threads.

Run as `-m tests.studio.serve` with its config as JSON.
"""

import json
import sys
from pathlib import Path

from flask import Flask
from gunicorn.app.base import BaseApplication

from standins.studio.config import StudioConfig
from standins.studio.server import create_app


class StudioServer(BaseApplication):  # type: ignore[misc] # gunicorn ships no types
    """Serves one studio on one port of loopback."""

    def __init__(self, config: StudioConfig, port: int) -> None:
        self._config = config
        self._port = port
        super().__init__()

    def load_config(self) -> None:
        bind = f"127.0.0.1:{self._port}"
        settings = {"bind": bind, "workers": 1, "worker_class": "gthread", "threads": 16, "loglevel": "warning"}
        for name, value in {**settings, "control_socket_disable": True}.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return create_app(self._config)


def main() -> None:
    body = json.loads(sys.argv[1])
    port = int(body.pop("port"))
    config = StudioConfig(Path(body.pop("folder")), public_url=f"http://127.0.0.1:{port}", **body)
    StudioServer(config, port).run()


if __name__ == "__main__":
    main()
