"""Compare the speed of reading whole collections in batches with reading sentence by sentence in a session.

    python benchmarks/bulk.py CORPUS [--model FOLDER] [--documents 40] [--rounds 3] [--processes] [--words 300000]

Reads the documents of CORPUS alternately by `session.say` and by `Resolver.pipe`, checks that the results are
identical to the bit, and prints words per second of CPU time, best of all rounds, then the speed-up of the encoder
alone. With --processes, also runs `incoref batch` with one and two workers on the documents, repeated until they have
--words words, and prints words per second of wall-clock time, which is only meaningful on an idle machine. That time
includes everything: loading the model, starting the workers, reading the rows and writing the answers.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import incoref
from incoref import corpora
from incoref.batch import Columns, run
from incoref.model.folder import Model
from incoref.model.subwords import joined, utterances_of
from incoref.session.updates import Message
from incoref.types import Document

SHARD_ROWS = 8
"""Few, so that at the end no worker waits long for the other's last shard."""


def conversation(document: Document) -> list[Message]:
    return [Message(document.text[s.start : s.end], s.speaker) for s in document.sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", action="store_true")
    parser.add_argument("--words", type=int, default=300_000, help="the least for --processes")
    chosen = parser.parse_args()
    resolver = incoref.load(chosen.model)
    documents = list(islice(corpora.read(chosen.corpus), chosen.documents))
    texts = list(map(conversation, documents))

    def streamed() -> list[Document]:
        found = []
        for number, text in enumerate(texts):
            session = resolver.session(undo=0)
            for message in text:
                session.say(message.text, message.speaker)
            found.append(session.document(str(number), singletons=False))
        return found

    def together() -> list[Document]:
        return list(resolver.pipe(texts))

    ways: dict[str, Callable[[], list[Document]]] = {"session.say": streamed, "pipe": together}
    best = dict.fromkeys(ways, float("inf"))
    answers = {}
    for _ in range(chosen.rounds):
        for name, way in ways.items():
            started = time.process_time()
            answers[name] = way()
            best[name] = min(best[name], time.process_time() - started)
    assert answers["pipe"] == answers["session.say"], "not the same bits"
    words = sum(len(document.tokens) for document in answers["pipe"])
    sentences = sum(map(len, texts))
    print(
        f"{len(texts)} documents, {sentences} sentences, {words} words; load of the machine: {os.getloadavg()[0]:.1f}"
    )
    for name, seconds in best.items():
        print(f"{name}: {words / seconds:.0f} words/s of one core")
    print(f"ratio: {best['session.say'] / best['pipe']:.2f}")
    print(f"ratio of the encoder alone: {encoder_ratio(resolver.model, documents, chosen.rounds):.2f}")
    if chosen.processes:
        print_processes(texts * -(-chosen.words // words), chosen.model, chosen.rounds)


def encoder_ratio(model: Model, documents: list[Document], rounds: int) -> float:
    """Return the encoder's speed-up from batching sentences."""
    blocks = [block for document in documents for block in model.blocks(utterances_of(document))]
    ids = [joined([part for _, part in block]).ids for block in blocks]
    ways: list[Callable[[], object]] = [
        lambda: [model.encoder.encode(block, model.encoder.start()) for block in ids],
        lambda: model.encoder.encode_all(ids),
    ]
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for number, way in enumerate(ways):
            started = time.process_time()
            way()
            best[number] = min(best[number], time.process_time() - started)
    return best[0] / best[1]


def print_processes(texts: list[list[Message]], model: Path | None, rounds: int) -> None:
    """Print the speed with one and with two workers."""
    with tempfile.TemporaryDirectory() as name:
        lines = Path(name) / "in.jsonl"
        rows = [{"text": [m.text for m in text], "who": [m.speaker for m in text]} for text in texts]
        lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
        rate = {1: 0.0, 2: 0.0}
        for number in range(rounds):
            for workers in rate:
                out, columns = Path(name) / f"{workers}-{number}", Columns(speaker="who")
                started = time.perf_counter()
                done = run(lines, out, model=model, workers=workers, columns=columns, shard_rows=SHARD_ROWS)
                rate[workers] = max(rate[workers], done.new_words / (time.perf_counter() - started))
    for workers, words in rate.items():
        print(f"incoref batch --workers {workers}: {words:.0f} words/s by the clock")
    print(f"ratio: {rate[2] / rate[1]:.2f}")


if __name__ == "__main__":
    main()
