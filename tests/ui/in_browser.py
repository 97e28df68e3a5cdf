"""Evaluate scripts in a page of Chromium.

A process of its own, for Playwright leaves an event loop running.

Reads ``{"origin", "scripts": [[script, argument], ...]}``, and writes what they return.
"""

import json
import sys
from typing import Any

from playwright.sync_api import sync_playwright

from tests.needs import chromium


def main() -> int:
    """Return the exit status."""
    given: dict[str, Any] = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
        )
        page = browser.new_page()
        page.goto(given["origin"])
        told = [page.evaluate(script, argument) for script, argument in given["scripts"]]
        browser.close()
    json.dump(told, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
