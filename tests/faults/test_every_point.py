"""A process dies at every commit and at every outside call, and the story ends as if nothing had happened.

Each case names the points where the process at work is killed with SIGKILL in the middle of the story, once each. The
model may be asked again only for a decision that was not yet stored, and the router only for a verdict that was not yet
stored. Where the process dies in the work of the turn itself, the model is asked again exactly once for each such
death; a death in the work of an order may meet the turn at any step.
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
    "message_received": _commit("web.post_message"),
    "verdict": _call("verdict.ask"),
    "routed": (*_commit("route.recorded"), *_commit("route.delivered")),
    "event_not_sent": ("event.send.before", *_commit("watch.repaired")),
    "run_lost_with_its_first_step": _commit("turn.opened"),
    "event_sent_but_not_ticked_off": ("event.send.after", "event.send.after#2"),
    "messages_claimed": _commit("decide.claimed"),
    "messages_read_and_not_stored": ("decide.recorded.before_commit",),
    "about_to_ask_the_model": ("model.ask.before",),
    "model_answered_and_not_stored": ("model.ask.after",),
    "decision_stored": ("decide.recorded.after_commit",),
    "second_decision_stored": ("decide.recorded.after_commit#2",),
    "call_started": (*_commit("call.started"), "call.act.before"),
    "call_acted": (*_commit("tool"), "call.act.after"),
    "call_result_not_stored": ("call.result.before_commit",),
    "call_result_stored": ("call.result.after_commit",),
    "order_not_admitted": ("order.admitted.before_commit",),
    "order_admitted_and_call_open": ("order.admitted.after_commit",),
    "lease_of_the_turn": _commit("turn.claimed"),
    "lease_of_the_order": (*_commit("order.claimed"), *_commit("order.let_go")),
    "job_about_to_be_sent": (*_commit("order.submitting"), "provider.submit.before"),
    "job_sent_and_id_not_known": ("provider.submit.after",),
    "job_id_known_and_not_stored": ("order.accepted.before_commit",),
    "job_id_stored": ("order.accepted.after_commit",),
    "provider_asked_for_news": (*_call("provider.ask"), *_commit("order.news")),
    "news_looked_for": _commit("order.followed"),
    "provider_called_back": _commit("order.called_back"),
    "outputs_fetched": _call("provider.fetch"),
    "order_settled_and_not_stored": ("order.settled.before_commit",),
    "order_settled_and_task_not_woken": ("order.settled.after_commit#2",),
    "turn_closed": _commit("turn.closed"),
    "turn_closed_at_the_end": ("turn.closed.after_commit#2",),
}
BOUNDARIES: dict[str, pytest.MarkDecorator] = {
    "message_received": pytest.mark.boundary(2),
    "messages_claimed": pytest.mark.boundary(11),
    "messages_read_and_not_stored": pytest.mark.boundary(11),
    "decision_stored": pytest.mark.boundary(12),
    "second_decision_stored": pytest.mark.boundary(12),
    "call_started": pytest.mark.boundary(13),
    "call_acted": pytest.mark.boundary(13),
    "call_result_not_stored": pytest.mark.boundary(13),
    "call_result_stored": pytest.mark.boundary(15),
    "about_to_ask_the_model": pytest.mark.boundary(16),
    "model_answered_and_not_stored": pytest.mark.boundary(16),
    "order_not_admitted": pytest.mark.boundary(19),
    "order_admitted_and_call_open": pytest.mark.boundary(19),
    "event_not_sent": pytest.mark.boundary(22),
    "run_lost_with_its_first_step": pytest.mark.boundary("22b"),
    "event_sent_but_not_ticked_off": pytest.mark.boundary(23),
    "job_about_to_be_sent": pytest.mark.boundary(27),
    "provider_called_back": pytest.mark.boundary(28),
    "outputs_fetched": pytest.mark.boundary(28),
    "order_settled_and_not_stored": pytest.mark.boundary(28),
    "provider_asked_for_news": pytest.mark.boundary(30),
    "news_looked_for": pytest.mark.boundary(30),
    "job_sent_and_id_not_known": pytest.mark.boundary(31),
    "job_id_known_and_not_stored": pytest.mark.boundary(31),
    "job_id_stored": pytest.mark.boundary(31),
    "order_settled_and_task_not_woken": pytest.mark.boundary(33),
}
"""The cases that hold a situation of docs/boundaries.md; the others are commits and calls that it does not name."""
ALONE = "turn_closed_at_the_end"
"""Passes are counted in one process: a death between the first closing and the second begins the count anew."""
IN_A_ROW = [[name for n, name in enumerate(CASES) if n % 4 == part and name != ALONE] for part in range(4)]


@pytest.mark.parametrize("case", [pytest.param(case, marks=BOUNDARIES.get(case, ())) for case in CASES])
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
