"""Words a second, of processor time, for reading and writing each format.

The corpus is made up: ten documents of some 1,500 words with as many columns, comments, mentions and fields as GUM
has. ``python benchmarks/formats.py PATH`` takes the first ten
documents of a corpus of yours instead.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from incoref import corpora
from incoref.corpora._losses import Losses
from incoref.corpora._registry import Writer
from incoref.types import Document

ROUNDS = 60
MOST_DOCUMENTS = 10
VOCABULARY = 3000


def made_up(documents: int = MOST_DOCUMENTS, sentences: int = 80) -> list[Document]:
    """Documents as the reader of CoNLL-U gives them."""
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 10))) for _ in range(VOCABULARY)
    ]
    made = []
    for number in range(documents):
        lines = [
            f"# newdoc id = made-up-{number}",
            "# global.Entity = GRP-etype-infstat-salience-centering-minspan-link",
        ]
        for at in range(sentences):
            length = chance.randint(5, 33)
            marks = [""] * length
            for _ in range(length // 4):
                first = chance.randrange(length)
                last = min(length - 1, first + int(chance.expovariate(0.6)))
                id = chance.randint(1, 300)
                fields = f"({id}-{chance.choice(['person', 'object'])}-giv:act-nnnnn-cf{chance.randint(1, 9)}-1-coref"
                marks[first] += fields + (")" if first == last else "")
                marks[last] = marks[last] if first == last else f"{id}){marks[last]}"
            lines += [f"# sent_id = made-up-{number}-{at}", "# s_type = decl", f"# speaker = {chance.choice('ABC')}"]
            for place, mark in enumerate(marks, 1):
                word = words[int(VOCABULARY * chance.random() ** 3)]
                misc = "|".join(([f"Entity={mark}"] if mark else []) + (["SpaceAfter=No"] * (chance.random() < 0.12)))
                head, relation = chance.randint(0, length), chance.choice(["nsubj", "obj", "det", "punct"])
                lemma = word[:-1] or word
                lines.append(f"{place}\t{word}\t{lemma}\tNOUN\tNN\tNumber=Sing\t{head}\t{relation}\t_\t{misc or '_'}")
            lines.append("")
        made += corpora.FORMATS["conllu"].read("\n".join(lines) + "\n", "made-up")  # type: ignore[misc]
    return made


def fastest(work: Callable[[Document], object], documents: list[Document]) -> float:
    """Processor time for all documents, the least of several rounds of each: others were disturbed."""
    total = 0.0
    for document in documents:
        times = []
        for _ in range(ROUNDS):
            start = time.process_time()
            work(document)
            times.append(time.process_time() - start)
        total += min(times)
    return total


def main() -> None:
    documents = list(corpora.read(sys.argv[1]))[:MOST_DOCUMENTS] if len(sys.argv) > 1 else made_up()
    words = sum(len(document.tokens) for document in documents)
    mentions = sum(1 for document in documents for _ in document.mentions)
    print(f"{words:,} words, {mentions:,} mentions\n")
    print("| format | reading | writing | writing what was CoNLL-U |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for format in corpora.FORMATS.values():
            if format.write is not None and format.read is not None and format.annotated:
                times = measure(format.name, format.write, documents, Path(folder))
                print(f"| {format.name} | " + " | ".join(f"{words / seconds:,.0f}" for seconds in times) + " |")


def measure(name: str, write: Writer, documents: list[Document], folder: Path) -> list[float]:
    """Seconds for reading, for writing what was read in the same format, for writing the documents as they are."""
    files, own = {}, {}
    for number, document in enumerate(documents):
        file = folder / f"{number}"
        file.write_text("".join(write([document], Losses())), encoding="utf-8")
        (own[document.id],) = corpora.read(file, name)
        files[document.id] = file
    return [
        fastest(lambda document: list(corpora.read(files[document.id], name)), documents),
        fastest(lambda document: "".join(write([document], Losses())), list(own.values())),
        fastest(lambda document: "".join(write([document], Losses())), documents),
    ]


if __name__ == "__main__":
    main()
