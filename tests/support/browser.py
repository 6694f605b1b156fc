"""A real Chromium: Debian's where it is installed, which plays H.264, else the driver's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

FLAGS = (
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the module: its driver keeps an event loop running in the main thread as long as it lives."""
    # Imported here: only the tests that ask for it pay for its driver.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a new session. An error in its scripts or console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda line: complaints.append(line.text) if _is_complaint(line) else None)
    yield opened
    context.close()
    assert complaints == []


def _is_complaint(line: ConsoleMessage) -> bool:
    # An answer such as 409 is a story's business, not a fault of the page.
    return line.type == "error" and not line.text.startswith("Failed to load resource")
