"""The stand-in model as a process of its own, as the product runs it, but one that can be told to misbehave.

Run as `-m tests.faults.model_process` with its folder, its port and its key.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from app.processes.gunicorn_server import run_wsgi
from app.processes.process import ProcessOptions
from app.supervision.ports import free_ports
from core.settings import load_settings
from standins.model.config import ModelConfig
from standins.model.server import create_app
from tests.support.environment import without_settings
from tests.support.waiting import until


@contextmanager
def model_process(folder: Path, key: str) -> Iterator[str]:
    """Gives its address."""
    port = free_ports(1)[0]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "tests.faults.model_process", str(folder), str(port), key]
    process = subprocess.Popen(command, env=without_settings(), start_new_session=True)

    def answers() -> bool:
        assert process.poll() is None, "the model ended"
        try:
            return httpx.get(f"{url}/healthz", timeout=2).is_success
        except httpx.HTTPError:
            return False

    try:
        until(f"the model at {url}", answers, 60)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def main() -> None:
    folder, port, key = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    config = ModelConfig(folder, key=key, faults=True)
    run_wsgi(
        ProcessOptions(load_settings(home=folder), "127.0.0.1", port, supervised=True), 32, lambda: create_app(config)
    )


if __name__ == "__main__":
    main()
