"""A real browser for tests: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

HOW_TO_INSTALL = "needs Chromium; on Debian and Ubuntu: apt-get install chromium"


@contextmanager
def running() -> Iterator[Browser]:
    """A browser without a window. Without Chromium the test is skipped, but fails in CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW_TO_INSTALL)
    # Tests often run as root in a container, where the sandbox can't be set up; the pages are our own.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class Complaints:
    """What a page says on its console that is wrong: errors, warnings, and what was refused by its policy."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", lambda message: message.type in ("error", "warning") and self.found.append(message.text))
        page.on("pageerror", lambda error: self.found.append(f"{error.message}\n{error.stack}"))

    def without(self, *expected: str) -> list[str]:
        """Those in which none of these words are."""
        return [text for text in self.found if not any(words in text for words in expected)]
