"""Measure the cost in F1 and the savings of each eviction policy, by reading whole documents in sessions.

    python benchmarks/bounded_memory.py MODEL CORPUS [--scheme litbank] [--documents FILE] [--drop-singletons]

Prints one row per policy: CoNLL F1, the largest number of entities that any document had at once and their size in a
save, the share of entities that were evicted, and CPU time.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import incoref
from incoref import corpora
from incoref.evaluation.metrics import Scorer

POLICIES: list[dict[str, Any]] = [
    {"eviction": "none"},
    {"eviction": "icoref"},
    *(
        {"eviction": policy, "max_entities": limit}
        for policy in ("lru", "dual")
        for limit in (50, 100, 200, 500, 1000)
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--scheme")
    parser.add_argument("--documents", type=Path, help="a file with the ids of the documents to take")
    parser.add_argument("--drop-singletons", action="store_true")
    parser.add_argument("--limits", type=int, nargs="*", help="only these sizes of lru and dual")
    given = parser.parse_args()
    documents = list(corpora.read(given.corpus))
    if given.documents:
        wanted = set(given.documents.read_text(encoding="utf-8").split())
        documents = [document for document in documents if document.id in wanted]
    resolver = incoref.load(given.model)
    print(f"{len(documents)} documents, {sum(len(d.tokens) for d in documents)} tokens, scheme {given.scheme}")
    print("| policy | most entities | kB in a save | evicted | CoNLL F1 | tokens a second |")
    print("|---|---|---|---|---|---|")
    for options in POLICIES:
        if given.limits is not None and options.get("max_entities", given.limits[0]) not in given.limits:
            continue
        print(_row(resolver, documents, options, given), flush=True)


def _row(
    resolver: incoref.Resolver,
    documents: list[incoref.Document],
    options: dict[str, Any],
    given: argparse.Namespace,
) -> str:
    scorer = Scorer(drop_singletons=given.drop_singletons)
    most = evicted = entities = size = 0
    started = time.process_time()
    for document in documents:
        session = resolver.session(scheme=given.scheme, undo=0, history=None, **options)
        live = gone = 0
        for update in session.read(document):
            live += sum(mention.new or 0 for mention in update.mentions) - len(update.evicted)
            gone += len(update.evicted)
            most = max(most, live)
        predicted = session.document(document.id, singletons=True)
        scorer.add_documents(document, predicted)
        evicted, entities = evicted + gone, entities + len(predicted.entities)
        bare = resolver.restore(session.save(), history=0)
        bare.say(".")
        size = max(size, len(bare.save()))
    seconds = time.process_time() - started
    name = " ".join(str(value) for value in options.values())
    tokens = sum(len(document.tokens) for document in documents)
    return (
        f"| {name} | {most} | {size / 1000:.0f} | {evicted / max(1, entities):.0%} | {scorer.result().conll_f1:.2f} "
        f"| {tokens / seconds:.0f} |"
    )


if __name__ == "__main__":
    main()
