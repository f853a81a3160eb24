"""Measure how often English text is wrongly reported as not English, for documents and single sentences.

python benchmarks/language.py ../shared/corpora/mudoco ../shared/corpora/litbank
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from incoref import corpora
from incoref.text.language import FEWEST_WORDS, Evidence


def row(name: str, texts: Iterable[str]) -> None:
    found = [Evidence().with_text(text) for text in texts]
    judged = [evidence for evidence in found if evidence.words >= FEWEST_WORDS]
    warned = sum(evidence.hardly_english for evidence in found)
    share = sorted(evidence.small / evidence.words for evidence in judged)[len(judged) // 2]
    print(f"| {name} | {len(found):,} | {len(judged):,} | {warned} | {share:.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="+")
    paths = parser.parse_args().corpus
    print(f"| texts | all | of {FEWEST_WORDS} words or more | warned of | small words (median) |")
    print("|---|---|---|---|---|")
    for path in paths:
        documents = list(corpora.read(path))
        row(f"{path}, documents", (document.text for document in documents))
        row(f"{path}, sentences", (d.text[s.start : s.end] for d in documents for s in d.sentences))


if __name__ == "__main__":
    main()
