"""Screenshots of the live page for the README: ``python tests/e2e/page_pictures.py`` writes docs/images/*.png.

The page shows its own examples with the packaged model, in light and dark mode, on desktop and phone.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import browser  # noqa: E402
from server_process import ServerProcess  # noqa: E402

IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000
COLOURS = 200


def main() -> None:
    expect.set_options(timeout=120_000)
    IMAGES.mkdir(parents=True, exist_ok=True)
    with ServerProcess(ROOT / "src/incoref/models/en", "memory") as server, browser.running() as chromium:
        desk = chromium.new_page(viewport={"width": 1200, "height": 720})
        read(desk, server.url, "A story")
        keep(desk, "page-light")
        longest_chain(desk).click()
        expect(desk.locator(".trace")).to_be_visible()
        keep(desk, "page-decision")
        desk.close()
        dark(chromium, server.url)
        phone(chromium, server.url)


def dark(chromium: Browser, url: str) -> None:
    page = chromium.new_page(viewport={"width": 1200, "height": 720}, color_scheme="dark")
    read(page, url, "A news text")
    page.locator(".e", has=page.locator(".count", has_not_text="1")).first.click()
    keep(page, "page-dark")
    page.close()


def phone(chromium: Browser, url: str) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 780}, is_mobile=True, has_touch=True)
    read(page, url, "A dialogue")
    page.evaluate("scrollTo(0, 0)")
    keep(page, "page-phone")
    page.close()


def read(page: Page, url: str, example: str) -> None:
    page.goto(url)
    page.locator("#starters").get_by_role("button", name=example).click()
    expect(page.locator("#progress")).to_be_visible()
    expect(page.locator("#progress")).to_be_hidden()
    page.evaluate("scrollTo(0, 0)")


def longest_chain(page: Page) -> Locator:
    """Return the second mention of the most-mentioned entity."""
    entity = page.locator(".m").evaluate_all(
        """(found) => {
          const counts = new Map();
          for (const { dataset } of found) counts.set(dataset.e, (counts.get(dataset.e) ?? 0) + 1);
          return [...counts].sort(([, a], [, b]) => b - a)[0][0];
        }"""
    )
    return page.locator(f'.m[data-e="{entity}"]').nth(1)


def keep(page: Page, name: str) -> None:
    path = IMAGES / f"{name}.png"
    taken = Image.open(BytesIO(page.screenshot(animations="disabled")))
    taken.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    assert path.stat().st_size <= LARGEST, f"{path.name} has {path.stat().st_size} bytes, not {LARGEST}"
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
