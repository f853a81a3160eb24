"""The page that ``--format html`` makes, in a real browser: chains light up, the document is replayed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

import browser
from incoref.outputs import html_page
from incoref.types import Document, Entity, Mention, Sentence, Token

SENTENCES = ("Anna met <b>Ben</b>.", "She saw his dog.", "It barked at him.", "Anna laughed.")
CHAINS = {"1": ("Anna", "She", "Anna"), "2": ("Ben", "his", "him"), "5": ("his dog", "It")}


def document() -> Document:
    text, sentences, mentions, place = "\n".join(SENTENCES), [], [], 0
    for number, line in enumerate(SENTENCES):
        sentences.append(Sentence(place, place + len(line), (Token(line, place, place + len(line)),)))
        for entity, words in CHAINS.items():
            for found in re.finditer(r"\b(?:" + "|".join(dict.fromkeys(words)) + r")\b", line):
                start, end = place + found.start(), place + found.end()
                mentions.append(Mention(start, end, found[0], (0, 1), number, entity, confidence=0.9))
        place += len(line) + 1
    entities = (
        Entity(id, tuple(mention for mention in mentions if mention.entity == id), words[0], "person")
        for id, words in CHAINS.items()
    )
    return Document("story.txt", text, tuple(sentences), tuple(entities))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=60_000)
    with browser.running() as running:
        yield running


@pytest.fixture
def page(chromium: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page, opened as a file. That it asks for nothing and says nothing wrong is part of every test."""
    (tmp_path / "page.html").write_text(html_page(document()), encoding="utf-8")
    opened = chromium.new_page()
    opened.set_default_timeout(60_000)
    errors = browser.ConsoleErrors(opened)
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto((tmp_path / "page.html").as_uri())
    yield opened
    assert errors.messages == []
    assert len(asked) == 1
    opened.close()


def lit(page: Page) -> list[str]:
    """The mentions that are lit up."""
    return page.locator(".m.on").all_text_contents()


def test_the_text_is_text(page: Page) -> None:
    assert page.locator("#text .block").all_inner_texts() == list(SENTENCES)
    assert page.locator("#text b").count() == 0


def test_pointing_lights_up_a_chain(page: Page) -> None:
    page.hover(".m >> text='She'")
    assert lit(page) == ["Anna", "She", "Anna"]
    expect(page.locator("#about")).to_have_text("Anna · person · mention 2 of 3 · linked with 90%")
    page.hover(".e >> text='Ben'")
    assert lit(page) == ["Ben", "his", "him"]
    page.hover("h1")
    assert lit(page) == []


def test_the_innermost_mention_counts(page: Page) -> None:
    page.hover(".m >> text='his' >> nth=-1")
    assert lit(page) == ["Ben", "his", "him"]
    page.locator(".m.h1").hover(position={"x": page.locator(".m.h1").bounding_box()["width"] - 12, "y": 8})  # type: ignore[index]
    assert lit(page) == ["his dog", "It"]


def test_the_keyboard_reaches_everything(page: Page) -> None:
    page.locator(".m").first.focus()
    assert lit(page) == ["Anna", "She", "Anna"]
    page.keyboard.press("ArrowRight")
    assert lit(page) == ["Ben", "his", "him"]
    page.keyboard.press("ArrowDown")
    expect(page.locator(":focus")).to_have_text("his")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(":focus")).to_have_text("his dog")
    page.locator("#on").focus()
    assert lit(page) == ["Ben", "his", "him"], "what is held stays lit"
    page.keyboard.press("Escape")
    assert lit(page) == []


def test_the_slider_replays_the_document(page: Page) -> None:
    counts = page.locator(".e .count")
    expect(counts).to_have_text(["3", "3", "2"])
    page.locator("#slider").fill("1")
    expect(page.locator("#place")).to_have_text("1 / 4")
    expect(page.locator(".later")).to_have_count(3)
    expect(page.locator(".now")).to_have_text(SENTENCES[0])
    expect(page.locator(".e:visible")).to_have_count(2)
    page.click("#on")
    expect(counts).to_have_text(["2", "2", "1"])
    expect(page.locator(".e:visible")).to_have_count(3)
    page.locator("#slider").fill("4")
    expect(page.locator(".later")).to_have_count(0)
    expect(page.locator(".now")).to_have_count(0)


def test_it_plays_by_itself_and_can_be_stopped(page: Page) -> None:
    page.click("#play")
    expect(page.locator("#place")).to_have_text("1 / 4")
    expect(page.locator("#place")).to_have_text("3 / 4")
    page.click("#play")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Replay")
    shown = page.locator("#place").inner_text()
    page.wait_for_timeout(300)
    assert page.locator("#place").inner_text() == shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_it_fits_and_can_be_read(page: Page, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
