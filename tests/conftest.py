"""What every test has: a clean environment, a home of its own, and the fixtures of tests/support."""

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
    """Whoever makes an HTTP client reads the certificates of all the world, which takes as long as a short test.

    From a folder they are read when one is needed.
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
    """Bytes are no name: what is packed bears the time, and two workers would not know the same tests."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them, and nothing is written outside a temporary home."""
    for name in list(os.environ):
        if is_setting(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path / "home"))
