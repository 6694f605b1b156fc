"""Where each boundary of the execution is shown: the numbers of the boundary list, and the tests that carry them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults import (
    test_dying,
    test_dying_memory,
    test_dying_orders,
    test_dying_sidecar,
    test_dying_skills,
    test_every_point,
)
from tests.faults.points import every_point
from tests.search.test_dying import DEATHS as search_deaths

ROOT = Path(__file__).parents[2]
EVERY_POINT = "tests/faults/test_every_point.py::test_story_survives_a_death"
TURN, FENCE = "tests/runtime/test_turn.py", "tests/runtime/test_fence.py"
TAKEN_BACK = "tests/runtime/test_withdrawal.py"
PLACING, SETTLING = "tests/generation/test_placement.py", "tests/generation/test_settlement.py"
CONTESTED = "tests/generation/test_contested.py"
SUBMITTING, PEOPLE = "tests/generation/test_submission.py", "tests/faults/test_people_meanwhile.py"
DYING, COMMANDS = "tests/faults/test_dying.py", "tests/faults/test_commands.py"
DOUBTING = "tests/generation/test_dispute.py"
REPRICING = "tests/generation/test_reprice.py"
ORDERS = "tests/faults/test_dying_orders.py"
PROMISES, WORKS = "tests/faults/test_promises.py", "tests/faults/test_works.py"
FROZEN = "tests/faults/test_frozen_worker.py::test_18_frozen_worker_is_replaced_at_epoch_2_and_its_late_write_refused"

SHOWN: dict[str, tuple[str, ...]] = {
    "2": (f"{EVERY_POINT}[02_received]", "tests/web/test_messages.py::test_the_same_client_id_is_one_message"),
    "8": (f"{PEOPLE}::test_08_message_that_comes_while_the_model_thinks_is_read_by_a_later_step",),
    "9": (
        f"{COMMANDS}::test_09_words_taken_back_put_in_place_and_moved_are_so_once",
        f"{TURN}::test_9_message_can_be_taken_back_until_a_step_has_read_it",
    ),
    "10": (
        f"{PROMISES}::test_10_words_that_a_frozen_step_has_claimed_are_read_and_the_person_is_told",
        f"{PROMISES}::test_10_words_taken_back_before_the_claim_of_a_frozen_worker_are_read_by_nobody",
        f"{PROMISES}::test_10_words_replaced_before_the_claim_of_a_frozen_worker_are_acted_on_by_nobody",
        f"{TAKEN_BACK}::test_10_follow_up_taken_back_leaves_a_done_task_done",
        f"{FENCE}::test_10_withdrawing_and_claiming_have_one_winner",
    ),
    "11": (f"{EVERY_POINT}[11_read_halfway]", f"{EVERY_POINT}[11_read_and_not_stored]"),
    "12": (
        f"{EVERY_POINT}[12_decision_stored]",
        f"{TURN}::test_12_decision_saved_before_a_crash_is_not_asked_for_again",
    ),
    "13": (f"{EVERY_POINT}[13_started]", f"{EVERY_POINT}[13_acted]", f"{EVERY_POINT}[13_result_not_stored]"),
    # Every tool of the product is repeatable, so that only a tool of a test can be left in doubt.
    "14": (
        f"{DYING}::test_14_call_that_began_nothing_is_run_again_though_it_is_not_repeatable",
        f"{TURN}::test_13_14_call_that_started_is_replayed_only_where_that_has_one_effect",
    ),
    "15": (f"{EVERY_POINT}[15_result_stored]", f"{TURN}::test_15_result_that_was_saved_is_used_again"),
    "16": (f"{EVERY_POINT}[16_about_to_ask]", f"{EVERY_POINT}[16_answered_and_not_stored]"),
    "17": (
        f"{WORKS}::test_17_large_page_is_stored_once_and_the_engine_keeps_nothing_of_it",
        f"{DYING}::test_17_large_result_is_stored_once_whatever_dies_while_it_is_stored",
        f"{TURN}::test_17_large_result_is_stored_once_and_read_back_by_pages",
    ),
    "18": (FROZEN, f"{FENCE}::test_18_frozen_execution_is_taken_over_once_and_its_late_result_refused"),
    "19": (
        "tests/faults/test_frozen_worker.py::test_19_frozen_worker_and_its_successor_place_the_same_order_once",
        "tests/faults/test_frozen_worker.py::test_19_frozen_worker_and_its_successor_send_the_same_job_once",
        f"{EVERY_POINT}[19_order_admitted_and_call_open]",
        f"{PLACING}::test_19_the_same_call_at_once_and_again_is_one_order",
    ),
    "20": (
        f"{PEOPLE}::test_20_stop_while_the_result_is_fetched_settles_the_job_and_wakes_nobody",
        f"{FENCE}::test_20_late_result_is_kept_only_of_a_call_that_a_stop_cut_off",
        f"{DYING}::test_20_late_result_of_a_stopped_turn_is_kept_or_stays_unknown",
        f"{SETTLING}::test_20_a_result_after_the_stop_is_stored_and_charged_and_wakes_nobody",
        f"{ORDERS}::test_20_order_whose_process_died_before_it_was_sent_is_not_sent_after_a_wish_for_its_end",
        f"{SUBMITTING}::test_20_what_may_still_be_on_its_way_is_waited_for",
        f"{DOUBTING}::test_20_a_job_that_was_sent_by_one_that_stood_still_over_a_stop_is_cancelled",
    ),
    "21": (
        f"{PEOPLE}::test_21_card_of_a_stopped_task_is_void_and_a_late_press_orders_nothing",
        f"{COMMANDS}::test_21_pause_that_comes_again_when_the_task_went_on_does_not_rest_its_next_turn",
        f"{FENCE}::test_21_late_stop_does_not_hit_the_next_turn",
        f"{FENCE}::test_21_stop_of_the_turn_that_is_at_work_or_waits_stops_it_and_may_come_twice",
        "tests/web/test_commands.py::test_21_stop_that_names_a_turn_that_has_ended_changes_nothing",
    ),
    "22": (
        f"{EVERY_POINT}[22_event_not_sent]",
        "tests/faults/test_watcher.py::test_22_watcher_that_died_is_followed_before_the_next_minute",
    ),
    "22b": (
        "tests/faults/test_engine_away.py::test_22b_engine_that_lost_its_state_is_rung_again_under_new_ids",
        f"{FENCE}::test_22b_run_that_was_lost_is_replaced_and_its_steps_stop",
    ),
    "23": (f"{EVERY_POINT}[23_event_sent_but_not_ticked_off]", f"{FENCE}::test_23_second_bell_of_a_turn_is_not_let_in"),
    "24": (
        f"{DYING}::test_24_watcher_that_dies_in_a_repair_is_followed",
        f"{FENCE}::test_24_unread_message_without_a_turn_gets_one_from_the_watch",
    ),
    "25": (
        "tests/faults/test_engine_away.py"
        "::test_25_messages_that_come_while_the_engine_is_away_are_kept_and_read_in_their_order",
    ),
    "26": (
        f"{COMMANDS}::test_26_commands_to_a_task_are_done_once",
        "tests/faults/test_database_away.py::test_26_database_that_is_away_at_the_commit_leaves_nothing_done",
    ),
    "27": (
        f"{EVERY_POINT}[27_about_to_be_sent]",
        f"{ORDERS}::test_27_31_job_that_nobody_can_be_asked_about_is_unresolved_and_paid_back_once",
        f"{SUBMITTING}::test_27_b01_an_unclear_submission_is_found_by_its_key",
    ),
    "28": (
        f"{EVERY_POINT}[28_settled_and_not_stored]",
        f"{SETTLING}::test_28_completion_at_the_same_time_is_one_work_one_charge_one_wake_up",
    ),
    "29": (
        f"{PROMISES}::test_29_late_and_doubled_callbacks_change_nothing_that_is_done",
        "tests/generation/test_callbacks.py::test_29_b47_what_is_done_stays_done",
        f"{DOUBTING}::test_29_a_success_that_the_provider_confirms_comes_home_and_wakes_nobody",
        f"{DOUBTING}::test_29_a_false_word_changes_nothing_and_has_the_provider_asked_a_few_times_at_most",
    ),
    "30": (
        f"{EVERY_POINT}[30_asked_for_news]",
        "tests/generation/test_with_engine.py::test_30_without_callbacks_asking_finishes_the_job",
    ),
    "31": (
        f"{EVERY_POINT}[31_sent_and_id_not_known]",
        f"{EVERY_POINT}[31_id_known_and_not_stored]",
        f"{ORDERS}::test_27_31_job_that_nobody_can_be_asked_about_is_unresolved_and_paid_back_once",
    ),
    "32": (
        f"{PROMISES}::test_32_single_picture_is_shown_without_a_further_inference",
        f"{SETTLING}::test_32_a_light_task_is_done_without_a_turn",
    ),
    "33": (
        f"{EVERY_POINT}[33_settled_and_nobody_woken]",
        f"{PLACING}::test_33_a_task_that_waited_for_the_card_waits_for_the_orders_then",
    ),
    "34": (
        f"{ORDERS}::test_34_order_that_fails_settles_its_money_once",
        f"{SETTLING}::test_34_one_that_fails_leaves_the_others_alone",
    ),
    "35": (
        f"{WORKS}::test_35_of_two_next_versions_the_later_is_kept_stale_and_not_placed",
        f"{ORDERS}::test_35_result_for_an_overtaken_version_is_kept_stale_and_not_placed",
        f"{SETTLING}::test_35_a_result_for_an_overtaken_version_is_kept_stale_and_not_placed",
    ),
    "36": (
        f"{PROMISES}::test_36_39_above_the_allowance_there_is_one_card_and_no_job_whatever_the_model_says[36_nothing]",
        f"{PLACING}::test_36_above_the_free_amount_there_is_a_card_and_no_job",
    ),
    "37": (
        f"{ORDERS}::test_37_two_processes_that_want_the_last_of_the_day_get_it_once",
        f"{PLACING}::test_37_two_tasks_that_want_the_last_of_the_day_get_it_once",
    ),
    "38": (
        f"{ORDERS}::test_38_charge_above_the_quote_is_booked_once_and_the_next_act_is_asked_about",
        f"{PLACING}::test_38_after_a_charge_above_the_plan_the_next_act_is_asked_about",
        f"{CONTESTED}::test_38_a_bill_above_the_most_is_recorded_in_full_charged_to_the_bound_and_stops_the_next",
        f"{CONTESTED}::test_38_a_bill_that_cannot_be_read_costs_the_quote_and_is_contested",
    ),
    "39": (
        f"{PROMISES}::test_36_39_above_the_allowance_there_is_one_card_and_no_job_whatever_the_model_says[39_the_users_consent]",
        f"{PLACING}::test_39_a_model_that_says_the_user_approved_changes_nothing",
    ),
    "40": (
        f"{PEOPLE}::test_40_approval_whose_answer_was_lost_orders_once",
        f"{PLACING}::test_40_two_presses_at_once_order_once",
        f"{PLACING}::test_40_a_quote_of_an_earlier_decision_authorises_nothing_once_a_newer_one_asks",
        f"{REPRICING}::test_40_a_price_that_has_risen_since_the_yes_is_asked_about_and_nothing_is_sent",
    ),
    "41": (
        f"{PROMISES}::test_41_each_paid_act_of_a_program_has_a_card_of_its_own",
        f"{PLACING}::test_41_each_paid_act_of_a_program_has_a_card_of_its_own",
        "tests/web/test_programs.py::test_41_words_that_a_program_puts_in_the_place_of_a_persons_are_a_programs",
        "tests/web/test_programs.py::test_41_task_that_reads_a_programs_answer_is_no_longer_the_persons_alone",
    ),
    # Forgetting comes with the memory; its card is the same kind.
    "42": (
        f"{WORKS}::test_42_deletion_is_confirmed_at_every_level_and_done_once",
        "tests/generation/test_guard.py::test_42_what_cannot_be_undone_is_always_confirmed",
    ),
}
ON_BOTH_DATABASES = {"rig", "stage", "store"}
"""Fixtures that give each test once on SQLite and once on PostgreSQL."""
DEADLY = {"strike", "die", "at_once", "kill"}
"""What has real processes die, freeze or meet."""


def test_every_boundary_has_its_tests() -> None:
    assert list(SHOWN) == ["2", *(str(n) for n in range(8, 23)), "22b", *(str(n) for n in range(23, 43))]


def test_every_point_is_struck_by_a_case() -> None:
    """A commit or an outside call that is added without a case where a process dies there fails here."""
    cases = [
        *test_every_point.CASES.values(),
        *test_dying.DEATHS.values(),
        *test_dying_memory.DEATHS.values(),
        *test_dying_orders.DEATHS.values(),
        *test_dying_sidecar.DEATHS.values(),
        *test_dying_skills.DEATHS.values(),
        *search_deaths.values(),
    ]
    struck = {entry.partition("#")[0] for entries in cases for entry in entries}
    assert sorted(every_point() - struck) == []
    assert {point for point in struck - every_point() if not point.startswith("web.")} == set()


@pytest.mark.parametrize("number", SHOWN)
def test_tests_of_a_boundary_are_there(number: str) -> None:
    for test in SHOWN[number]:
        file, _, name = test.partition("::")
        name, _, case = name.rstrip("]").partition("[")
        tree = ast.parse((ROOT / file).read_text())
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, test
        known = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)}
        assert not case or case in known, test


@pytest.mark.parametrize("number", SHOWN)
def test_boundary_is_shown_by_processes_that_die_on_both_databases(number: str) -> None:
    assert any(_is_deadly(*test.partition("[")[0].split("::")) for test in SHOWN[number]), SHOWN[number]


def _is_deadly(file: str, name: str) -> bool:
    """Whether a test of this package runs on both databases and, itself or by what it calls, strikes processes."""
    if not file.startswith("tests/faults/"):
        return False
    functions = {one.name: one for one in ast.parse((ROOT / file).read_text()).body if isinstance(one, ast.FunctionDef)}
    reached, left = set[str](), {name}
    while left:
        reached |= left
        left = {called for one in left if one in functions for called in _called(functions[one])} - reached
    return bool(ON_BOTH_DATABASES & {one.arg for one in functions[name].args.args} and DEADLY & reached)


def _called(function: ast.FunctionDef) -> set[str]:
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {str(getattr(one, "id", getattr(one, "attr", ""))) for one in calls}
