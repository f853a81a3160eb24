"""Measure words per second of CPU time for reading and writing each format.

    python benchmarks/formats.py [PATH]

The default corpus is synthetic: ten documents of about 1,500 words, with as many columns, comments, mentions and
fields as GUM. With PATH, the first ten documents there are used instead. Input for read-only formats is made from the
documents' texts.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from incoref import corpora
from incoref.corpora import Format, brat
from incoref.corpora.losses import Losses
from incoref.types import Document

ROUNDS = 20
MOST_DOCUMENTS = 10
VOCABULARY = 3000


def made_up(documents: int = MOST_DOCUMENTS, sentences: int = 80) -> list[Document]:
    """Return synthetic documents, parsed by the CoNLL-U reader."""
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
    """Return the CPU time for all documents, using the fastest of several rounds for each."""
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
            times = measure(format, documents, Path(folder))
            print(
                f"| {format.name} | " + " | ".join(f"{words / t:,.0f}" if t else "" for t in times) + " |", flush=True
            )


def measure(format: Format, documents: list[Document], folder: Path) -> list[float]:
    """Return seconds for reading, for writing back what was read, and for writing the original documents.

    0 for operations that the format doesn't support.
    """
    if format.read is None:
        return [0, 0, fastest(lambda document: list(brat.files([("name", document)], Losses())), documents)]
    files, own = {}, []
    for number, document in enumerate(documents):
        files[document.id] = folder / f"{number}"
        files[document.id].write_text(content_of(document, format), encoding="utf-8")
        own += corpora.read(files[document.id], format.name)
    reading = fastest(lambda document: list(corpora.read(files[document.id], format.name)), documents)
    write = format.write
    if write is None:
        return [reading, 0, 0]
    return [
        reading,
        fastest(lambda document: "".join(write([document], Losses())), own),
        fastest(lambda document: "".join(write([document], Losses())), documents),
    ]


def content_of(document: Document, format: Format) -> str:
    if format.write is not None:
        return "".join(format.write([document], Losses()))
    sentences = [(s.speaker or "Someone", document.text[s.start : s.end]) for s in document.sentences]
    if format.name == "transcript":
        return "".join(f"{speaker}: {text}\n" for speaker, text in sentences)
    head, comma = ("WEBVTT\n\n", ".") if format.name == "webvtt" else ("", ",")
    times = (f"00:{n // 60:02}:{n % 60:02}{comma}000" for n in range(len(sentences) + 1))
    cues = (
        f"{a} --> {b}\n{who.upper()}: {text}\n\n"
        for (a, b), (who, text) in zip(pairwise(times), sentences, strict=True)
    )
    return head + "".join(f"{number}\n{cue}" for number, cue in enumerate(cues, 1))


if __name__ == "__main__":
    main()
