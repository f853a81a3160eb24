"""Does a model still predict the same? Writes a digest of each document's predictions, or compares with earlier ones.

    python benchmarks/predictions.py CORPUS… -o before.json [--scheme ontonotes] [--model FOLDER]
    python benchmarks/predictions.py CORPUS… --against before.json

The digest is over the ids, names and types of all entities and the places and probabilities of all their mentions.
Exits with 1 and names the documents that differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from incoref import corpora, load
from incoref.types import Document


def digest(document: Document) -> str:
    """Of everything that was predicted; probabilities are rounded to nine places."""
    entities = [
        [
            entity.id,
            entity.name,
            entity.type,
            entity.speaker,
            [
                [
                    mention.start,
                    mention.end,
                    round(mention.confidence or 0, 9),
                    round(mention.mention_confidence or 0, 9),
                ]
                for mention in entity.mentions
            ],
        ]
        for entity in document.entities
    ]
    return hashlib.sha256(json.dumps(entities).encode()).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    parser.add_argument("-o", "--output", type=Path, help="a JSON file to write the digests to")
    parser.add_argument("--against", type=Path, help="a JSON file with earlier digests")
    parser.add_argument("--scheme", help="the annotation scheme; the model's first by default")
    parser.add_argument("--model", type=Path)
    chosen = parser.parse_args(arguments)
    resolver = load(chosen.model)
    digests = {
        document.id: digest(resolver.resolve(document, singletons=True, scheme=chosen.scheme))
        for path in chosen.corpora
        for document in corpora.read(path)
    }
    if chosen.output is not None:
        chosen.output.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    if chosen.against is None:
        print(f"{len(digests)} documents predicted")
        return 0
    before = json.loads(chosen.against.read_text(encoding="utf-8"))
    differing = [name for name in before.keys() | digests.keys() if before.get(name) != digests.get(name)]
    for name in sorted(differing):
        print(f"{name}: differs")
    print(f"{len(digests) - len(differing)} of {len(digests)} documents are predicted as before")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
