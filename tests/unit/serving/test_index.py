"""The index as a process."""

from __future__ import annotations

import click
import pytest

from app.serving.ask import Ask
from app.serving.index import run
from core.settings import load_settings


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "index.example"])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(click.UsageError, match="loopback"):
        run(Ask(load_settings(), host, 8006))

    assert not (load_settings().home / "index").exists()
