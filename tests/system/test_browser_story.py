"""The story as a person sees it: a real browser, the real product, the posters looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import story
from tests.support.product import Product

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
MINUTE = 60_000


def _say(page: Page, text: str) -> None:
    field = page.locator("form textarea").first
    field.fill(text)
    field.press("Enter")


def _sign_in(page: Page, product: Product) -> None:
    page.goto(f"{product.url}/?token={product.token}")
    page.wait_for_selector('#line[data-state="live"]')


def test_posters_film_and_a_card_on_one_page(page: Page, product: Product) -> None:
    _sign_in(page, product)
    assert product.token not in page.url
    page.evaluate("() => { window.stayed = true; }")

    # The posters arrive by themselves, each a real picture of its size
    _say(page, story.ORDER)
    page.locator("progress, [role=progressbar]").first.wait_for(timeout=MINUTE)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.tile img')].filter((one) => one.naturalWidth >= 1024).length === 3",
        timeout=2 * MINUTE,
    )
    sources = page.eval_on_selector_all(".tile img", "(all) => all.map((one) => one.src)")
    assert len(set(sources)) == 3

    # The film plays, five seconds long
    _say(page, story.FILM)
    film = page.locator("video").first
    film.wait_for(timeout=2 * MINUTE)
    film.evaluate("(one) => { one.muted = true; return one.play(); }")
    assert film.evaluate("(one) => one.duration") == pytest.approx(5, abs=0.2)
    assert film.evaluate("(one) => one.videoWidth") > 0

    # A quote is a card with its price; one press decides it
    _say(page, "Make a ten-second video of a lighthouse at night.")
    refuse = page.get_by_role("button", name="Refuse")
    refuse.wait_for(timeout=MINUTE)
    assert page.get_by_text("0.50").first.is_visible()
    refuse.click()
    refuse.wait_for(state="detached", timeout=MINUTE)

    # All of it without one reload
    assert page.evaluate("() => window.stayed")


def test_runs_page_shows_a_turn_with_its_steps(page: Page, product: Product) -> None:
    _sign_in(page, product)
    page.goto(f"{product.url}/runs?function=run-turn")
    page.locator("a[href^='/runs/']").first.click()

    page.get_by_text("decide-1").first.wait_for(timeout=MINUTE)
    assert page.get_by_text("turn_id").first.is_visible()
