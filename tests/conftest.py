"""Settings of every test: a clean environment, a home of its own, and the fixtures of tests/support."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.environment import is_setting
from tests.support.situations import MARKERS

pytest_plugins = [
    "tests.support.postgres",
    "tests.support.databases",
    "tests.support.engines",
    "tests.support.product",
    "tests.support.browser",
    "tests.support.index_process",
    "tests.support.observations",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", default="embedded", help="an Inngest server's address, for all that runs on one")
    parser.addoption("--away", type=float, default=2.0, help="seconds for which a test takes the engine away")
    parser.addoption("--situation", help="run the tests of one row of docs/boundaries.md, such as 25 or B15")


def pytest_configure() -> None:
    """Let HTTP clients read certificates from a folder, when they need one.

    From a file each client reads all of them at its start, which takes as long as a short test.
    """
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = "/etc/ssl/certs"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the situation that `--situation` names, as docs/boundaries.md numbers it."""
    wanted = config.getoption("--situation")
    if wanted is None:
        return
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        marks = [mark for name in MARKERS for mark in item.iter_markers(name)]
        (kept if wanted in {str(one) for mark in marks for one in mark.args} else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name parameters of bytes by their argument: compressed bytes contain the time, and two workers would disagree."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of the person who runs the tests away, and write nothing outside a temporary home."""
    for name in list(os.environ):
        if is_setting(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path / "home"))
