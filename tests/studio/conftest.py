"""One studio for the tests that leave it as it was; it may be told to misbehave and adds no waiting."""

from collections.abc import Iterator

import httpx
import pytest

from tests.studio.running import Studio, running


@pytest.fixture(scope="session")
def shared_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with running(Studio(tmp_path_factory.mktemp("studio"), faults=True)) as studio:
        yield studio


@pytest.fixture
def studio(shared_studio: Studio) -> Iterator[Studio]:
    yield shared_studio
    httpx.delete(f"{shared_studio.url}/faults")
