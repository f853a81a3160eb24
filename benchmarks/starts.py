"""Score a model on development corpora, reading each document from several starting points.

    python benchmarks/starts.py configs/default-en.toml [--model FOLDER] [--places 8]

One wrong link can change the score of a whole novel. Averaging over several starting points, the beginning and other
sentences in a document's first half, makes the score less dependent on chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from incoref.evaluation.metrics import Scorer
from incoref.learning.config import Configuration
from incoref.learning.data import sources
from incoref.model.named import DEFAULT_MODEL
from incoref.resolver import load
from incoref.types import Document


def from_places(document: Document, places: int) -> Iterator[Document]:
    """Yield the document from its beginning and from other sentences in its first half."""
    count = len(document.sentences)
    for place in range(places):
        yield sources.sentences_of(document, count * place // (2 * places), count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config", type=Path, help="a training configuration, whose dev corpora are read")
    parser.add_argument("--model", type=Path, default=DEFAULT_MODEL)
    parser.add_argument("--places", type=int, default=8)
    options = parser.parse_args()
    resolver = load(options.model)
    for corpus in Configuration.load(options.config).dev:
        scorer = Scorer(drop_singletons=corpus.drop_singletons)
        for document in sources.load(corpus):
            for rest in from_places(document, options.places):
                scorer.add_documents(rest, resolver.resolve(rest, singletons=True, scheme=corpus.scheme))
        print(f"{corpus.title}: CoNLL F1 {scorer.result().conll_f1:.1f}, {options.places} places")


if __name__ == "__main__":
    main()
