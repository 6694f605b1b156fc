"""The stand-in of a test, asked through the adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.llm.openai_model import OpenAIModel
from tests.model.standin import client, running


@pytest.fixture
def model(tmp_path: Path) -> Iterator[OpenAIModel]:
    with running(tmp_path) as url:
        yield client(url)
