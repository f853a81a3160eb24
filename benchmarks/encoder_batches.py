"""Measure the encoder's time per sentence, alone and batched with others, as in a server.

    python benchmarks/encoder_batches.py ../shared/corpora/mudoco [--model FOLDER]

Encodes turns of real dialogues, checks that batched vectors are identical to single ones to the bit, and prints
milliseconds of CPU time per sentence, by batch size.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

import numpy as np
from serving import dialogues

import incoref
from incoref.model.encoders import StatelessEncoder
from incoref.model.subwords import Utterance, joined

SENTENCES = 64
ROUNDS = 5
COMPANIES = (1, 2, 4, 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with the dialogues, *.eval.jsonlines")
    parser.add_argument("--model", type=Path)
    arguments = parser.parse_args()
    model = incoref.load(arguments.model).model
    encoder = model.encoder
    assert isinstance(encoder, StatelessEncoder), "this model's sentences attend to those before them"
    texts = [text for dialogue in islice(dialogues(arguments.folder), 200) for text, _ in dialogue]
    blocks = (model.blocks([Utterance(tuple(text.split()))])[0] for text in islice(texts, 0, None, 7))
    ids = [joined([part for _, part in block]).ids for block in islice(blocks, SENTENCES)]
    ids = [block for block in ids if len(block) < 32]  # so that all use the same grid
    alone = [encoder.vectors([block])[0] for block in ids]
    print(f"{len(ids)} sentences of {np.mean([len(block) for block in ids]):.1f} sub-words\n")
    print("| sentences in a call | ms a sentence |")
    print("|---|---|")
    for company in COMPANIES:
        seconds = []
        for _ in range(ROUNDS):
            started = time.process_time()
            found = [
                vectors
                for first in range(0, len(ids), company)
                for vectors in encoder.vectors(ids[first : first + company])
            ]
            seconds.append(time.process_time() - started)
            assert all(map(np.array_equal, found, alone)), "not the same bits"
        print(f"| {company} | {1000 * min(seconds) / len(ids):.2f} |", flush=True)


if __name__ == "__main__":
    main()
