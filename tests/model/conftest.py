"""The stand-in of a test, asked through the adapter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.llm.openai_model import OpenAIModel
from tests.model.standin import running_standin, standin_client


@pytest.fixture
def model(tmp_path: Path) -> Iterator[OpenAIModel]:
    with running_standin(tmp_path) as url:
        yield standin_client(url)
