"""The index of a running product is killed and lost: what is remembered is found, and the index is built again."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable

import pytest

from app.supervision.home_state import ProcessState
from core.database import Database
from core.search import collections
from core.search.chroma import ChromaIndex
from core.settings import load_settings
from tests.support.product import Product

pytestmark = [pytest.mark.long, pytest.mark.kill]


@pytest.mark.case("B54")
def test_a_product_works_without_its_index_and_builds_it_again(products: Callable[..., Product]) -> None:
    # Given a fact that the index of a running product holds
    product = products(LOOPWRIGHT_MEMORY_QUIET_SECONDS="1")
    product.say("Remember that our main colour is cobalt.")
    product.until("the fact", lambda: product.items("/api/v1/memory"))
    product.until("the fact in the index", lambda: held(product) == 1)
    # When the index is killed and its files are lost
    pid = product.row("index").pid
    assert pid is not None
    shutil.rmtree(product.home / "index")
    os.kill(pid, signal.SIGKILL)
    # Then it is found at every moment, and the index comes back and holds it again
    product.until("a new index", lambda: found(product) and product.row("index").pid not in (None, pid))
    product.until("the index", lambda: found(product) and product.row("index").state is ProcessState.RUNNING)
    product.until("the fact in the index again", lambda: found(product) and held(product) == 1)


def found(product: Product) -> bool:
    """Whether a search by meaning finds the fact now; it must, whatever became of the index."""
    facts = product.items("/api/v1/memory", q="which hue does our company use")
    assert [fact["text"] for fact in facts] == ["Our main colour is cobalt"]
    return True


def held(product: Product) -> int:
    """How many entries the index holds; 0 while it is away."""
    database = Database(load_settings(home=product.home).sql_url)
    with database.reading(database.workspace_ids()[0]) as scope:
        names = collections.list_collections(scope).values()
    database.close()
    index = ChromaIndex(f"http://127.0.0.1:{product.row('index').port}")
    return sum(index.count(name) for name in names) if index.alive() else 0
