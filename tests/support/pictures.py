"""Take the README's picture from a running product: `python -m tests.support.pictures`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support import story
from tests.support.browser import FLAGS
from tests.support.product import Product

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> int:
    product = Product(Path(tempfile.mkdtemp(prefix="pictures-"))).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1180, "height": 860})
            page.goto(f"{product.url}/?token={product.token}")
            story.order_posters(product)
            page.wait_for_function(
                "() => [...document.querySelectorAll('.tile img')].filter((one) => one.naturalWidth > 0).length === 3"
            )
            page.wait_for_timeout(1500)
            page.screenshot(path=str(PICTURES / "main.png"))
            # What the picture shows of the navigation, so that a test sees when it is old.
            (PICTURES / "main.navigation.txt").write_text("\n".join(page.locator(".nav a").all_inner_texts()) + "\n")
            browser.close()
    finally:
        product.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
