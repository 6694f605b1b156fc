"""A server whose worker cannot begin ends, and is not started for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.waiting import until

PROGRAM = """
from pathlib import Path
from app.processes.process import ProcessOptions
from app.processes.gunicorn_server import run_wsgi
from core.settings import load_settings

def build():
    print("begun", flush=True)
    raise RuntimeError("it cannot begin")

run_wsgi(ProcessOptions(load_settings(home=Path(__import__("sys").argv[1])), "127.0.0.1", 0), 2, build)
"""


def test_a_worker_that_cannot_begin_ends_its_server(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = str(tmp_path_factory.mktemp("home"))
    with subprocess.Popen([sys.executable, "-c", PROGRAM, home], stdout=subprocess.PIPE, text=True) as server:
        try:
            until("it ends", lambda: server.poll() is not None, 60)
        finally:
            server.kill()
        said, _ = server.communicate()

    assert server.returncode == 1
    assert said.count("begun") == 1
