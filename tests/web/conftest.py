"""The served site that these tests talk to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.site.dependencies import make_dependencies, make_home
from tests.web.site.site import Site, served


@pytest.fixture(scope="session")
def fresh_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home nobody has used, to be copied, and its token: making its database costs more than a test."""
    home = tmp_path_factory.mktemp("fresh") / "home"
    return home, make_home(home)


@pytest.fixture
def site(fresh_home: tuple[Path, str], tmp_path: Path) -> Iterator[Site]:
    """A web process over a fresh SQLite database."""
    home, token = fresh_home
    shutil.copytree(home, tmp_path / "home")
    with served(make_dependencies(tmp_path / "home"), token) as running:
        yield running


@pytest.fixture
def postgres_site(postgres_url: str, tmp_path: Path) -> Iterator[Site]:
    """A web process over PostgreSQL."""
    token = make_home(tmp_path / "home", postgres_url)
    with served(make_dependencies(tmp_path / "home", postgres_url), token) as running:
        yield running
