"""A process dies at every commit and at every call that leaves the house, and the story ends as if nothing had been.

Each case names the boundaries that it shows and the points where the process on duty is killed in the middle of the
story, with SIGKILL, once each. The model may be asked again only for a decision that was not yet stored, and the
router only for a verdict that was not yet stored. Where the death falls on the turn's own way, it is exactly as often
as one fell in between; a death in an order's work may meet the turn anywhere.
"""

from __future__ import annotations

import pytest

from tests.faults.audit import asked_again, assert_nothing_lost_or_doubled
from tests.faults.rig import Rig

pytestmark = pytest.mark.kill

ASKED_BUT_NOT_STORED = ("model.ask.after", "decide.recorded.before_commit")
JUDGED_BUT_NOT_STORED = ("verdict.ask.after", "route.recorded.before_commit")

ANYWHERE = ("order.", "provider.", "event.", "watch.")
"""Points of threads that work beside the turn, in the same process."""


def _commit(name: str) -> tuple[str, str]:
    return f"{name}.before_commit", f"{name}.after_commit"


def _call(name: str) -> tuple[str, str]:
    return f"{name}.before", f"{name}.after"


CASES: dict[str, tuple[str, ...]] = {
    "02_received": _commit("web.post_message"),
    "verdict": _call("verdict.ask"),
    "routed": (*_commit("route.recorded"), *_commit("route.delivered")),
    "22_event_not_sent": ("event.send.before", *_commit("watch.repaired")),
    "22b_run_lost_with_its_first_step": _commit("turn.opened"),
    "23_event_sent_but_not_ticked_off": ("event.send.after", "event.send.after#2"),
    "11_read_halfway": _commit("decide.claimed"),
    "11_read_and_not_stored": ("decide.recorded.before_commit",),
    "16_about_to_ask": ("model.ask.before",),
    "16_answered_and_not_stored": ("model.ask.after",),
    "12_decision_stored": ("decide.recorded.after_commit",),
    "12_second_decision_stored": ("decide.recorded.after_commit#2",),
    "13_started": (*_commit("call.started"), "call.act.before"),
    "13_acted": (*_commit("tool"), "call.act.after"),
    "13_result_not_stored": ("call.result.before_commit",),
    "15_result_stored": ("call.result.after_commit",),
    "19_order_not_admitted": ("order.admitted.before_commit",),
    "19_order_admitted_and_call_open": ("order.admitted.after_commit",),
    "lease_of_the_turn": _commit("turn.claimed"),
    "lease_of_the_order": (*_commit("order.claimed"), *_commit("order.let_go")),
    "27_about_to_be_sent": (*_commit("order.submitting"), "provider.submit.before"),
    "31_sent_and_id_not_known": ("provider.submit.after",),
    "31_id_known_and_not_stored": ("order.accepted.before_commit",),
    "31_id_stored": ("order.accepted.after_commit",),
    "30_asked_for_news": (*_call("provider.ask"), *_commit("order.news")),
    "30_looked_for_news": _commit("order.followed"),
    "28_called_back": _commit("order.called_back"),
    "28_fetched": _call("provider.fetch"),
    "28_settled_and_not_stored": ("order.settled.before_commit",),
    "33_settled_and_nobody_woken": ("order.settled.after_commit#2",),
    "turn_closed": _commit("turn.closed"),
    "turn_closed_at_the_end": ("turn.closed.after_commit#2",),
}
ALONE = "turn_closed_at_the_end"
"""Passes are counted in one process: a death between the first closing and the second begins the count anew."""
IN_A_ROW = [[name for n, name in enumerate(CASES) if n % 4 == part and name != ALONE] for part in range(4)]


@pytest.mark.parametrize("case", CASES)
def test_story_survives_a_death(rig: Rig, case: str) -> None:
    if rig.database_url and case != ALONE:
        pytest.skip("on PostgreSQL the deaths come in a row")
    _play(rig, CASES[case])


@pytest.mark.parametrize("part", range(4))
def test_story_survives_many_deaths_in_a_row(rig: Rig, part: int) -> None:
    if not rig.database_url:
        pytest.skip("on SQLite the deaths come one by one")
    _play(rig, [entry for case in IN_A_ROW[part] for entry in CASES[case]], seconds=240)


def _play(rig: Rig, entries: tuple[str, ...] | list[str], seconds: float = 90) -> None:
    rig.strike(*entries)

    town, message = rig.posters()
    task = rig.ended(message, seconds=seconds)

    assert rig.struck() == list(entries)
    assert_nothing_lost_or_doubled(rig, task, works=2)
    again, expected = asked_again(rig, task), sum(entry.startswith(ASKED_BUT_NOT_STORED) for entry in entries)
    assert expected <= again <= expected + sum(entry.startswith(ANYWHERE) for entry in entries)
    assert rig.model.judged_again(town) == sum(entry.startswith(JUDGED_BUT_NOT_STORED) for entry in entries)
