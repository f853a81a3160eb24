"""Measure how well chunks name the entities they mention, resolved alone or with a memory of earlier chunks.

    python benchmarks/chunks.py CORPUS [--model FOLDER] [--sizes 1 2 4 8] [--sure 0 0.5 0.8]

Counts third-person pronouns whose entity has a mention other than a pronoun before the end of their chunk. "Named" is
the share of them whose chunk names the entity, in its original words or by an inserted name. "Wrong" is the share of
inserted names that don't belong to the entity, or replace something that isn't an annotated mention. A name is right
if some mention of the entity contains all its words.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import incoref
from incoref import corpora
from incoref.session.resolved_text import REPLACED
from incoref.text.english import PRONOUNS

DETERMINERS = frozenset("a an the this that these those".split())


def words_of(name: str) -> frozenset[str]:
    return frozenset(word.strip(",.;:'\"").removesuffix("'s") for word in name.lower().split()) - DETERMINERS - {""}


class Gold:
    """The annotation of a document, by offsets in its text."""

    def __init__(self, document: incoref.Document) -> None:
        self.entity = {(m.start, m.end): e.id for e in document.entities for m in e.mentions}
        self.described = [
            (m.start, e.id, words_of(m.text))
            for e in document.entities
            for m in e.mentions
            if not all(word.lower() in PRONOUNS for word in m.text.split())
        ]

    def pronouns(self, start: int, end: int, text: str) -> Iterator[str]:
        """Yield the entity of each pronoun in a chunk, if a non-pronoun mentions it before the end of the chunk."""
        known = {entity for place, entity, _ in self.described if place < end}
        for (first, last), entity in self.entity.items():
            if start <= first and last <= end and text[first:last].lower() in REPLACED and entity in known:
                yield entity

    def described_in(self, start: int, end: int) -> set[str]:
        return {entity for place, entity, _ in self.described if start <= place < end}

    def is_right(self, entity: str | None, name: str) -> bool:
        return any(other == entity and words_of(name) <= words for _, other, words in self.described)


def chunks_of(document: incoref.Document, size: int) -> list[tuple[int, int]]:
    sentences = [sentence for sentence in document.sentences if sentence.tokens]
    return [
        (sentences[place].start, sentences[min(place + size, len(sentences)) - 1].end)
        for place in range(0, len(sentences), size)
    ]


def measure(
    documents: list[incoref.Document], resolver: incoref.Resolver, size: int, memory: bool, sure: float | None
) -> tuple[Counter[str], float]:
    """Return counts over all documents, and CPU seconds; without ``sure``, no names are inserted."""
    counts: Counter[str] = Counter()
    started = time.process_time()
    for document in documents:
        gold = Gold(document)
        session = incoref.Memory(resolver, min_confidence=sure or 0)
        for start, end in chunks_of(document, size):
            named = gold.described_in(start, end)
            if sure is not None:
                if not memory:
                    session = incoref.Memory(resolver, min_confidence=sure)
                passage = session.add(document.text[start:end], start=start)
                for choice in passage.decisions:
                    if choice.named and choice.name and choice.text.lower() in REPLACED:
                        entity = gold.entity.get((start + choice.start, start + choice.end))
                        right = gold.is_right(entity, choice.name)
                        counts.update(put_in=1, wrong=not right)
                        if right and entity is not None:
                            named.add(entity)
            wanted = list(gold.pronouns(start, end, document.text))
            counts.update(pronouns=len(wanted), named=sum(entity in named for entity in wanted), chunks=1)
    return counts, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--sure", type=float, nargs="*", default=[0.5], help="values of min_confidence")
    given = parser.parse_args()
    documents = list(corpora.read(given.corpus))
    resolver = incoref.load(given.model)
    print(f"{len(documents)} documents, {sum(len(d.tokens) for d in documents)} tokens")
    print(
        "| sentences per chunk | resolved | min_confidence | pronouns | named | names put in | wrong | ms per chunk |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for size in given.sizes:
        for memory, sure in [(False, None), *((memory, sure) for memory in (False, True) for sure in given.sure)]:
            counts, seconds = measure(documents, resolver, size, memory, sure)
            how = "not" if sure is None else "with a memory" if memory else "each chunk alone"
            rest = (
                "| | |"
                if sure is None
                else f"| {counts['put_in']} | {counts['wrong'] / max(1, counts['put_in']):.1%} "
                f"| {1000 * seconds / counts['chunks']:.0f} |"
            )
            named = counts["named"] / max(1, counts["pronouns"])
            print(
                f"| {size} | {how} | {'' if sure is None else sure} | {counts['pronouns']} | {named:.1%} {rest}",
                flush=True,
            )


if __name__ == "__main__":
    main()
