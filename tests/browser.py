"""A real browser for tests: Debian's Chromium, controlled by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

HOW_TO_INSTALL = "needs Chromium; on Debian and Ubuntu: apt-get install chromium"


@contextmanager
def running() -> Iterator[Browser]:
    """Start a headless browser. Without Chromium, the test is skipped, or fails in CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(HOW_TO_INSTALL)
    # Tests often run as root in a container, where the sandbox doesn't work; the pages are trusted.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


class ConsoleErrors:
    """Errors and warnings on a page's console, including violations of its content security policy."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        page.on("console", self._add_message)
        page.on("pageerror", lambda error: self.messages.append(f"{error.message}\n{error.stack}"))

    def _add_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(message.text)

    def without(self, *expected: str) -> list[str]:
        """Return the messages that contain none of these texts."""
        return [message for message in self.messages if not any(text in message for text in expected)]
