"""The index as a process."""

from __future__ import annotations

import click
import pytest

from app.processes.index import run
from app.processes.process import ProcessOptions
from core.settings import load_settings


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "index.example"])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(click.UsageError, match="loopback"):
        run(ProcessOptions(load_settings(), host, 8006))

    assert not (load_settings().home / "index").exists()
