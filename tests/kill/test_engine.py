"""The engine is killed at every hop; what was killed before must not have left anything behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kill.matrix import HOPS, story_ends_right
from tests.support.product import Product

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def mortal(products: Callable[..., Product]) -> Product:
    return products()


@pytest.mark.parametrize("hop", HOPS)
def test_story_ends_right(mortal: Product, hop: str) -> None:
    story_ends_right(mortal, "engine", hop)
