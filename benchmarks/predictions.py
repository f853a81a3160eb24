"""Check that a model's predictions are unchanged: write each document's predictions, or compare with earlier ones.

    python benchmarks/predictions.py CORPUS… -o before.json [--scheme ontonotes] [--model FOLDER]
    python benchmarks/predictions.py CORPUS… --against before.json

Ids, names, types and speakers of all entities and the offsets of all mentions must be equal. Probabilities of
mentions and links must agree to 1e-6, as they are sums in single precision, whose last digits depend on the order of
additions. If documents differ, prints them and exits with 1.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incoref import corpora, load
from incoref.types import Document

TOLERANCE = 1e-6


def predictions(document: Document) -> dict[str, Any]:
    """Return a digest of all decisions, and their probabilities."""
    entities = [
        [entity.id, entity.name, entity.type, entity.speaker, [[m.start, m.end] for m in entity.mentions]]
        for entity in document.entities
    ]
    mentions = [mention for entity in document.entities for mention in entity.mentions]
    return {
        "entities": hashlib.sha256(json.dumps(entities).encode()).hexdigest(),
        "probabilities": [[m.confidence or 0.0, m.mention_confidence or 0.0] for m in mentions],
    }


def distance(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """Return the largest difference between probabilities; infinite if the entities differ."""
    if before["entities"] != now["entities"]:
        return float("inf")
    pairs = zip(before["probabilities"], now["probabilities"], strict=True)
    return max((abs(a - b) for old, new in pairs for a, b in zip(old, new, strict=True)), default=0.0)


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> int:
    """Print which documents differ; return the exit code."""
    if before.keys() != now.keys():
        print(f"the documents are not the same: {', '.join(sorted(before.keys() ^ now.keys()))}")
        return 1
    distances = {name: distance(before[name], now[name]) for name in now}
    equal = [name for name in distances if distances[name] <= TOLERANCE]
    for name in sorted(distances.keys() - set(equal)):
        print(f"{name}: {'other entities' if distances[name] == float('inf') else f'off by {distances[name]:.1e}'}")
    print(f"{len(equal)} of {len(now)} documents are predicted as before")
    if equal:
        print(f"largest difference of a probability in them: {max(distances[name] for name in equal):.1e}")
    return 0 if len(equal) == len(now) else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    parser.add_argument("--documents", type=Path, help="a file with the ids of the documents to read; all by default")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file to write the predictions to")
    parser.add_argument("--against", type=Path, help="a JSON file with earlier predictions")
    parser.add_argument("--scheme", help="the annotation scheme; the model's first by default")
    parser.add_argument("--model", type=Path)
    chosen = parser.parse_args(arguments)
    resolver = load(chosen.model)
    wanted = None if chosen.documents is None else set(chosen.documents.read_text(encoding="utf-8").split())
    now = {
        document.id: predictions(resolver.resolve(document, singletons=True, scheme=chosen.scheme))
        for path in chosen.corpora
        for document in corpora.read(path)
        if wanted is None or document.id in wanted
    }
    if chosen.output is not None:
        chosen.output.write_text(json.dumps(now) + "\n", encoding="utf-8")
    if chosen.against is None:
        print(f"{len(now)} documents predicted")
        return 0
    return compare(json.loads(chosen.against.read_text(encoding="utf-8")), now)


if __name__ == "__main__":
    sys.exit(main())
