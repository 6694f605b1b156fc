"""Rows of skills go when nobody asks for them any more, and not before."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from skills import claims, pruning, refusals, spending
from tests.support.databases import Store


def fill(store: Store, n: int) -> None:
    with store.database.transaction(store.workspace_id) as scope:
        claims.claim(scope, "watch", f"k{n}", "run", 60)
        refusals.record(scope, skill_id="watch", version_id=None, run_id=None, what="host", detail=f"{n}")
        spending.reserve(scope, key=f"llm:{n}", stem="watch", run_id="run", amount=Decimal("0.1"), budget=Decimal(1))


def left(store: Store) -> tuple[list[str | None], list[str], Decimal]:
    with store.database.reading(store.workspace_id) as scope:
        held = [claims.holder(scope, "watch", f"k{n}") for n in (1, 2)]
        kept = [one.detail for one in refusals.of_skill(scope, "watch")]
        spent = spending.spent_on(scope, "watch", scope.now.date())
    return held, kept, spent


def test_what_is_old_goes_and_what_is_not_stays(store: Store) -> None:
    fill(store, 1)
    store.clock.advance(pruning.KEPT + timedelta(days=1))
    fill(store, 2)

    assert pruning.pass_over(store.database, store.workspace_id) == 3
    assert left(store) == ([None, "run"], ["2"], Decimal("0.1"))


def test_it_is_done_once_an_hour(store: Store) -> None:
    fill(store, 1)
    store.clock.advance(pruning.KEPT + timedelta(days=1))
    assert pruning.pass_over(store.database, store.workspace_id) == 3
    fill(store, 2)
    store.clock.advance(timedelta(minutes=2))

    assert pruning.pass_over(store.database, store.workspace_id) == 0
    store.clock.advance(timedelta(hours=1))
    assert pruning.pass_over(store.database, store.workspace_id) == 1
