"""Measure the benefit of known speakers: read dialogues with and without them.

    python benchmarks/speakers.py CORPUS… [--genres conversation,podcast] [--model FOLDER]

Besides CoNLL F1 (singletons dropped), computes precision and recall of links between first- or second-person mentions
("I", "your" …) found in both annotation and output. Without speakers, every "I" looks the same.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from incoref import corpora
from incoref.evaluation.metrics import Scorer
from incoref.resolver import load
from incoref.types import Document

PERSONS = frozenset("i me my mine myself you your yours yourself".split())


def persons(document: Document) -> dict[tuple[int, int], str]:
    """Return the entity of each first- or second-person mention."""
    return {m.tokens: e.id for e in document.entities for m in e.mentions if m.text.lower() in PERSONS}


def links(key: Document, response: Document) -> Counter[str]:
    """Count right, predicted and gold links between first- or second-person mentions on both sides."""
    gold, found = persons(key), persons(response)
    counts: Counter[str] = Counter()
    for one, other in combinations(sorted(gold.keys() & found.keys()), 2):
        wanted, made = gold[one] == gold[other], found[one] == found[other]
        counts.update(wanted=wanted, made=made, right=wanted and made)
    return counts


def without_speakers(document: Document) -> Document:
    return replace(document, sentences=tuple(replace(s, speaker=None) for s in document.sentences))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--genres", type=lambda text: text.split(","))
    parser.add_argument("--model", type=Path)
    chosen = parser.parse_args()
    resolver = load(chosen.model)
    documents = [
        document
        for path in chosen.corpora
        for document in corpora.read(path)
        if (chosen.genres is None or document.genre in chosen.genres)
        and len({sentence.speaker for sentence in document.sentences} - {None}) > 1
    ]
    print(f"{len(documents)} documents with several speakers, {sum(len(d.tokens) for d in documents)} tokens")
    print("| | CoNLL F1 | persons: links made | right | precision | recall |\n|---|---|---|---|---|---|")
    for name, shown in (("with speakers", lambda d: d), ("without", without_speakers)):
        scorer, counts = Scorer(drop_singletons=True), Counter[str]()
        for document in documents:
            predicted = resolver.resolve(shown(document), singletons=True)
            scorer.add_documents(document, predicted)
            counts += links(document, predicted)
        precision, recall = (100 * counts["right"] / max(1, counts[of]) for of in ("made", "wanted"))
        f1 = scorer.result().conll_f1
        print(f"| {name} | {f1:.1f} | {counts['made']} | {counts['right']} | {precision:.1f} | {recall:.1f} |")


if __name__ == "__main__":
    main()
