"""The live page in a real browser, with a real server: typed, pasted, corrected, shared, restarted, listened to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, Page, expect

import browser
from server_process import QuickServer

if TYPE_CHECKING:
    from tiny_models import TinyModels

PATIENCE = 60_000
"""Milliseconds until a test gives up waiting; a condition that is met is met at once."""


@pytest.fixture(scope="module")
def server(tiny: TinyModels) -> Iterator[QuickServer]:
    with QuickServer(tiny.fp32, "memory") as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with browser.running() as running:
        yield running


@pytest.fixture
def page(chromium: Browser, server: QuickServer) -> Iterator[Page]:
    """The page, freshly opened. That it says nothing wrong on its console is part of every test."""
    opened = chromium.new_page(base_url=server.url)
    opened.set_default_timeout(PATIENCE)
    complaints = browser.Complaints(opened)
    opened.goto("/")
    yield opened
    opened.close()
    assert complaints.found == []


def sentences(page: Page) -> list[str]:
    return [element.evaluate("element => element.textContent") for element in page.locator(".s").all()]


def test_sentences_are_marked_as_they_end(page: Page) -> None:
    field = page.get_by_label("Your text")
    field.press_sequentially("Anna saw the old man. ")
    expect(page.locator(".s")).to_have_count(0)
    field.press_sequentially("He left")
    expect(page.locator(".s")).to_have_count(1)
    expect(field).to_have_value("He left")
    field.press("Enter")
    expect(page.locator(".s")).to_have_count(2)
    expect(field).to_have_value("")
    assert sentences(page) == ["Anna saw the old man.", "He left"]
    expect(page.locator("#state")).to_have_text("Live")
    marked = page.locator(".m")
    listed = page.locator("#entities .count")
    expect(listed.first).to_be_visible()
    assert marked.count() == sum(int(text) for text in listed.all_inner_texts()) > 0
    page.reload()
    expect(page.locator(".s")).to_have_count(2)
    assert page.locator(".m").count() == marked.count()
