"""The pages in a real browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.engine.engine_process import EngineProcess
from tests.engine.waiting import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_an_event_is_sent_and_its_run_followed_to_its_end(shop_engine: EngineProcess, page: Page) -> None:
    # Given a person at the form, who first makes mistakes
    page.goto(f"{shop_engine.url}/")
    page.get_by_role("link", name="Send event").click()
    page.locator("#name-problem").wait_for(state="attached")
    page.wait_for_load_state("load")
    page.get_by_role("button", name="Send").click()
    assert page.locator("#name-problem").text_content() == "An event has a name."
    assert page.evaluate("document.activeElement.id") == "name"
    page.get_by_label("Name").fill("order/placed")
    page.get_by_label("Data").fill("[1]")
    page.get_by_role("button", name="Send").click()
    assert "must be an object" in (page.locator("#data-problem").text_content() or "")
    page.get_by_label("Data").fill("{")
    page.get_by_role("button", name="Send").click()
    assert "This is not JSON" in (page.locator("#data-problem").text_content() or "")
    # When they send a good one
    page.get_by_label("Data").fill('{"id": "b1", "total": 5, "customer": "bo", "hold": true}')
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/ui/events/01*")
    # Then the event's page soon has its run, whose page shows it waiting
    page.locator("#live a code").first.click()
    page.get_by_text("waits for the event order/delivered").wait_for()
    # And what a person opened with the keyboard stays open while the page follows the run
    first = page.locator(".fall summary").first
    first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".fall details[open]").count() == 1
    shop_engine.send({"name": "order/delivered", "data": {"id": "b1"}})
    page.locator(".state .chip.completed").wait_for()
    assert page.locator(".fall details[open]").count() == 1
    assert page.evaluate("document.activeElement.matches('.fall summary')")
    assert page.locator("#news").text_content() == "The run is now completed."
    assert page.get_by_text("Output", exact=True).count() >= 1
    assert page.get_by_role("button", name="Cancel").count() == 0
    assert page.title().endswith(": completed · Engine")
    # And what came from outside was only ever text
    assert page.get_by_text("<script>alert(1)</script>").count() > 0


def test_a_run_is_cancelled_and_run_again(shop_engine: EngineProcess, page: Page) -> None:
    # Given a run that waits
    (event_id,) = shop_engine.send(
        {"name": "order/placed", "data": {"id": "b2", "total": 5, "customer": "bo", "hold": True}}
    )
    run_id = eventually(lambda: shop_engine.runs_of(event_id))[0]["run_id"]
    page.goto(f"{shop_engine.url}/ui/runs/{run_id}")
    # When the person thinks better of it, nothing happens
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Cancel").click()
    assert shop_engine.get(f"/v1/runs/{run_id}")["data"]["status"] == "Running"
    # When they go through with it, then the page shows it
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    page.locator(".state .chip.cancelled").wait_for()
    # And a rerun leads to the new run
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Rerun").click()
    page.wait_for_url(lambda url: re.search(rf"/ui/runs/(?!{run_id})\w{{26}}$", url) is not None)
    page.locator(".state .chip.running").wait_for()
    assert len(shop_engine.runs_of(event_id)) == 2


def test_times_are_the_viewers(shop_engine: EngineProcess, page: Page) -> None:
    # Given a viewer far away from UTC
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(timezone_id="Asia/Kathmandu", locale="en-GB")
    far = context.new_page()
    # Then a schedule is told in their time beside the cron's own
    far.goto(f"{shop_engine.url}/ui")
    row = far.locator("tr", has_text="TZ=Europe/Oslo 0 3 1 1 *")
    assert re.search(r"1 Jan( \d{4})?, 07:45:00", row.locator("time").inner_text())
    assert "03:00:00 Europe/Oslo" in row.inner_text()
    # And what they type into a filter is meant in their time, and shown so again
    far.goto(f"{shop_engine.url}/ui/runs")
    far.get_by_label("From").fill("2026-03-02T09:00:00")
    far.get_by_role("button", name="Show").click()
    far.wait_for_url("**from=2026-03-02T03%3A15%3A00.000Z*")
    assert far.get_by_label("From").input_value() == "2026-03-02T09:00"
    context.close()


def test_a_page_from_before_a_restart_says_so(tmp_path_factory: pytest.TempPathFactory, page: Page) -> None:
    # Given an open page of an engine that starts again
    engine = EngineProcess(f"sqlite:///{tmp_path_factory.mktemp('engine') / 'engine.db'}").start()
    try:
        page.goto(f"{engine.url}/ui/events/new?name=a/b")
        assert engine.stop() == 0
        engine.start()
        # When its button is pressed, then it says what to do, and does as it is asked once that is done
        page.get_by_role("button", name="Send").click()
        page.get_by_text("this page is older than the engine's process; reload it").wait_for()
        page.reload()
        page.get_by_role("button", name="Send").click()
        page.wait_for_url("**/ui/events/01*")
    finally:
        engine.close()


def test_signing_in_and_out(tmp_path_factory: pytest.TempPathFactory, page: Page) -> None:
    # Given a keyed engine
    folder = tmp_path_factory.mktemp("engine")
    engine = EngineProcess(
        f"sqlite:///{folder / 'engine.db'}", "--signing-key", "ab" * 32, "--event-key", "key"
    ).start()
    try:
        page.goto(f"{engine.url}/ui/events/new?name=a/b")
        # When the key is shown, wrong and then right
        page.get_by_label("Signing key").fill("cd" * 32)
        page.keyboard.press("Enter")
        page.get_by_text("That is not the signing key of this engine.").wait_for()
        page.get_by_label("Signing key").fill("ab" * 32)
        page.keyboard.press("Enter")
        # Then the person is where they meant to go, may act, and may leave
        page.wait_for_url("**/ui/events/new?name=a/b")
        page.get_by_role("button", name="Send", exact=True).click()
        page.wait_for_url("**/ui/events/01*")
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/ui/sign-in")
    finally:
        engine.close()
