"""Records of which calls were given which facts; their results are cleared when a fact is forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from core.database import Scope
from core.tools import CallContext
from memory.facts import MemoryFact
from memory.tables import recalls
from runtime.turns import ledger

_FORGOTTEN = {"facts": [], "note": "something that was recalled here was forgotten since"}


def note_recalled(scope: Scope, call: CallContext, told: Sequence[MemoryFact]) -> None:
    """Record that a call is given these facts; part of the transaction before it answers."""
    for fact in told:
        scope.insert_new(recalls, call_id=call.call_id, fact_id=fact.id, n=fact.current.n, created_at=scope.now)
    turn_id, n, _seq = call.call_id.rsplit(":", 2)
    ledger.record_facts(scope, turn_id, int(n), [fact.id for fact in told])


def clear_recalled(scope: Scope, fact_ids: Sequence[str]) -> int:
    """Clear the results of calls that were given these facts, and return how many there were."""
    told = scope.rows(scope.select(recalls.c.call_id).where(recalls.c.fact_id.in_(list(fact_ids))))
    calls = sorted({row.call_id for row in told})
    return ledger.forget_results(scope, calls, _FORGOTTEN) if calls else 0
