"""Importing the product's processes starts nothing."""

from __future__ import annotations

import subprocess
import sys


def test_b15_importing_the_web_starts_no_thread() -> None:
    counted = "import threading, app.web, app.serving.web, app.worker.process; print(threading.active_count())"
    done = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["1"]
