"""Accuracy of the splitters on raw text rebuilt from annotated documents, by genre and layout, and their speed.

    python benchmarks/splitting.py accuracy PATH... [--splitter rules|spacy] [--layout paragraphs|lines|wrapped|...]
    python benchmarks/splitting.py speed PATH... [--splitter rules|spacy]
    python benchmarks/splitting.py hostile

A sentence or word counts as found if both its ends are right. Layouts change only white space: paragraphs are
separated by blank lines, as from the corpus reader, or on one line each, or wrapped at 72 characters, or all on one
line.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from incoref.corpora import read
from incoref.integrations.spacy_splitter import SpacySplitter
from incoref.text import FORCED, Pending, RuleSplitter, Splitter, split
from incoref.types import Document, Sentence

PAGE = 72
REPEATS = 5
HOSTILE = {
    "one word": "x",
    "words without a stop": "word ",
    "full stops": ".",
    "exclamation marks": "!",
    "hyphens": "a-",
    "opening brackets": "(",
    "addresses cut short": "a.a@",
    "short lines": "word\n",
    "abbreviations": "Mr. ",
    "questions in quotes": "“Why?” Abc ",
    "dashes": "— ",
    "footnotes": "A. [1] ",
    "ideographs": "你",
    "ideographic sentences": "你好。",
    "emoji": "👩\u200d",
    "spaces": " ",
    "line breaks": "\n",
    "soft hyphens": "\u00ad ",
    "half surrogates": "\ud800",
}
"""Text that is repeated up to the required length."""


@dataclass
class Counts:
    """Numbers of gold, found and correct items."""

    gold: int = 0
    found: int = 0
    right: int = 0

    def add(self, gold: set[tuple[int, int]], found: set[tuple[int, int]]) -> None:
        self.gold += len(gold)
        self.found += len(found)
        self.right += len(gold & found)

    def __str__(self) -> str:
        precision, recall = self.right / max(self.found, 1), self.right / max(self.gold, 1)
        f1 = 2 * self.right / max(self.found + self.gold, 1)
        return f"{100 * precision:.1f} | {100 * recall:.1f} | {100 * f1:.1f}"


def wrapped(text: str) -> str:
    """Wrap a text at the page width by turning spaces into line breaks."""
    characters = list(text)
    line, space = 0, None
    for at, character in enumerate(text):
        if character == "\n":
            line, space = at + 1, None
        elif character == " ":
            space = at
        if at - line >= PAGE and space is not None:
            characters[space] = "\n"
            line, space = space + 1, None
    return "".join(characters)


LAYOUTS: dict[str, Callable[[str], str]] = {
    "paragraphs": lambda text: text,
    "lines": lambda text: text.replace("\n\n", " \n"),
    "wrapped": wrapped,
    "running": lambda text: text.replace("\n\n", "  "),
}
"""Layouts, all of which preserve the text's length and thus all offsets."""


def accuracy(documents: Iterable[Document], splitter: Splitter, layout: str) -> None:
    sentences: dict[str, Counts] = defaultdict(Counts)
    tokens: dict[str, Counts] = defaultdict(Counts)
    for document in documents:
        found = split(LAYOUTS[layout](document.text), splitter=splitter)
        for genre in (document.genre or "none", "all"):
            sentences[genre].add(_places(document.sentences), _places(found))
            tokens[genre].add(_words(document.sentences), _words(found))
    print("| genre | sentences | precision | recall | F1 | words | precision | recall | F1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for genre in sorted(sentences, key=lambda genre: (genre == "all", genre)):
        print(f"| {genre} | {sentences[genre].gold} | {sentences[genre]} | {tokens[genre].gold} | {tokens[genre]} |")


def _places(sentences: Iterable[Sentence]) -> set[tuple[int, int]]:
    return {(sentence.start, sentence.end) for sentence in sentences}


def _words(sentences: Iterable[Sentence]) -> set[tuple[int, int]]:
    return {(token.start, token.end) for sentence in sentences for token in sentence.tokens}


def speed(documents: Iterable[Document], splitter: Splitter) -> None:
    text = "\n\n".join(document.text for document in documents)
    count = sum(len(sentence) for sentence in split(text, splitter=splitter))
    print("| fed in pieces of | words/s | µs a character |")
    print("|---|---|---|")
    for size in (len(text), 4096, 64, 1):
        seconds = min(_seconds(text, splitter, size) for _ in range(REPEATS if size > 1 else 1))
        name = "the whole text" if size == len(text) else f"{size} characters" if size > 1 else "1 character"
        print(f"| {name} | {count / seconds:,.0f} | {1e6 * seconds / len(text):.2f} |")


def _seconds(text: str, splitter: Splitter, size: int) -> float:
    """Return the CPU time to split a text fed in pieces."""
    start, pending = time.process_time(), Pending()
    for at in range(0, len(text), size):
        _, pending = splitter.feed(pending, text[at : at + size])
    splitter.flush(pending)
    return time.process_time() - start


def hostile(splitter: Splitter) -> None:
    print("| a megabyte of | whole, s | by the character, µs each | longest sentence | forced |")
    print("|---|---|---|---|---|")
    for name, unit in HOSTILE.items():
        text = (unit * (1_000_000 // len(unit) + 1))[:1_000_000]
        start = time.process_time()
        found = split(text, splitter=splitter)
        whole = time.process_time() - start
        part = text[:100_000]
        each = _seconds(part, splitter, 1) / len(part)
        longest = max((len(sentence) for sentence in found), default=0)
        forced = sum(sentence.attributes == FORCED for sentence in found)
        print(f"| {name} | {whole:.2f} | {1e6 * each:.1f} | {longest} | {forced} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=("accuracy", "speed", "hostile"))
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--splitter", choices=("rules", "spacy"), default="rules")
    parser.add_argument("--layout", choices=tuple(LAYOUTS), default="paragraphs")
    arguments = parser.parse_args()
    splitter: Splitter = RuleSplitter() if arguments.splitter == "rules" else SpacySplitter.blank()
    documents = [document for path in arguments.paths for document in read(path)]
    if arguments.measure == "hostile":
        hostile(splitter)
    elif not documents:
        parser.error("give files or directories of annotated documents")
    elif arguments.measure == "accuracy":
        accuracy(documents, splitter, arguments.layout)
    else:
        speed(documents, splitter)


if __name__ == "__main__":
    main()
