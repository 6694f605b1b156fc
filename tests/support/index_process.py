"""The index in a process of its own, as the supervisor runs it; a test may kill it, wipe it and start it again."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.supervision.ports import free_ports
from core.search.chroma import ChromaIndex
from tests.support.environment import without_settings
from tests.support.waiting import until


class IndexProcess:
    """`loopwright serve index` in a home, always on the same port."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> IndexProcess:
        self.home.mkdir(parents=True, exist_ok=True)
        told = ("serve", "index", "--home", str(self.home), "--port", str(self.port))
        with (self.home / "index.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "app.cli", *told], stdout=log, stderr=log, env=without_settings()
            )
        until("the index", lambda: ChromaIndex(self.url).alive(), 60)
        return self

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Kill it with SIGKILL, as a crash would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def wipe(self) -> None:
        """Delete its files; only while it does not run."""
        shutil.rmtree(self.home / "index")

    def hold(self) -> None:
        """Freeze it: it still takes connections and answers none."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def let_go(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        if self.runs:
            self.kill()


@pytest.fixture(scope="module")
def index_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexProcess]:
    """Run an index for the module; a test that kills it starts it again."""
    process = IndexProcess(tmp_path_factory.mktemp("index-home")).start()
    yield process
    process.close()
