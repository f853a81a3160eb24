"""Measure the HTML page of a long document: its size, the time to generate it, and its speed in Chromium.

python benchmarks/page.py ../shared/corpora/litbank --words 20000
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import sync_playwright

from incoref import corpora
from incoref.outputs import html_page
from incoref.types import Document, Entity, Mention, Sentence

MEASURE = """() => {
  const timed = (act) => {
    const from = performance.now();
    act();
    document.body.offsetHeight;  // makes the browser lay the page out
    return performance.now() - from;
  };
  const click = (id) => () => document.getElementById(id).click();
  const entity = document.querySelector(".e");
  return [
    timed(() => entity.dispatchEvent(new Event("mouseenter"))),
    timed(click("back")), timed(click("back")), timed(click("on")),
  ];
}"""


def joined(documents: Iterable[Document], words: int) -> Document:
    """Concatenate documents until there are enough words."""
    text, tokens = "", 0
    sentences: list[Sentence] = []
    entities: list[Entity] = []
    for document in documents:
        offset, before, first = len(text), len(sentences), tokens

        def moved(
            mention: Mention, id: str, offset: int = offset, before: int = before, first: int = first
        ) -> Mention:
            return replace(
                mention,
                start=mention.start + offset,
                end=mention.end + offset,
                tokens=(mention.tokens[0] + first, mention.tokens[1] + first),
                sentence=mention.sentence + before,
                entity=id,
            )

        for sentence in document.sentences:
            own = tuple(t._replace(start=t.start + offset, end=t.end + offset) for t in sentence.tokens)
            sentences.append(replace(sentence, start=sentence.start + offset, end=sentence.end + offset, tokens=own))
        for entity in document.entities:
            id = str(len(entities) + 1)
            entities.append(Entity(id, tuple(moved(m, id) for m in entity.mentions), entity.name, entity.type))
        text += document.text + "\n\n"
        tokens += len(document.tokens)
        if tokens >= words:
            break
    return Document("long", text, tuple(sentences), tuple(entities))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--words", type=int, default=20_000)
    options = parser.parse_args()
    document = joined(corpora.read(options.corpus), options.words)
    started = time.process_time()
    page = html_page(document)
    counts = {"words": document.tokens, "mentions": tuple(document.mentions), "entities": document.entities}
    print(", ".join(f"{len(found):,} {what}" for what, found in counts.items()))
    print(f"page: {len(page.encode()) / 1e6:.2f} MB, made in {time.process_time() - started:.2f} s")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page, encoding="utf-8")
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1200, "height": 800})
        started = time.perf_counter()
        opened.goto(file.as_uri())
        print(f"opened in {time.perf_counter() - started:.2f} s")
        times = opened.evaluate(MEASURE)
        for what, milliseconds in zip(
            ("a chain lights up", "replay starts", "a step back", "a step on"), times, strict=True
        ):
            print(f"{what}: {milliseconds:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
