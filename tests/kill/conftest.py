"""What the kill matrix runs on: one product for all hops of one victim."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.product import LOADED_FIRST, Product


@pytest.fixture(scope="module")
def product_to_kill(products: Callable[..., Product]) -> Product:
    """What was killed at one hop must not have left anything behind for the next."""
    allowance = {"LOOPWRIGHT_FREE_PER_OPERATION": "0.08"}
    return products(program=LOADED_FIRST, LOOPWRIGHT_MEMORY_QUIET_SECONDS="1", **allowance)
