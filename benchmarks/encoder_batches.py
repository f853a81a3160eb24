"""Would reading sentences of several sessions at once pay? What a token costs the encoder, by how many are together.

The sub-words are random and in one block, after a context: an upper bound of what a batch could save, since it needs
no gathering of keys and values from several sessions. Then the encoder's part of a turn of a real dialogue.

    python benchmarks/encoder_batches.py ../shared/corpora/mudoco
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
from serving import dialogues

import incoref
from incoref.encoder import Encoder, EncoderState

REPEATS = 25
CONTEXT = 60


def costs(encoder: Encoder) -> None:
    draw = np.random.default_rng(0)
    state = encoder.read(draw.integers(1000, 20000, CONTEXT), encoder.start())[1]
    print("| tokens at once | ms | ms a token |\n|---|---|---|")
    for count in (8, 12, 16, 24, 32, 48, 64, 96):
        block = draw.integers(1000, 20000, count)
        least = min(_seconds(encoder, block, state) for _ in range(REPEATS))
        print(f"| {count} | {1000 * least:.1f} | {1000 * least / count:.2f} |")


def _seconds(encoder: Encoder, block: np.ndarray, state: EncoderState) -> float:
    started = time.thread_time()
    encoder.read(block, state)
    return time.thread_time() - started


def share(resolver: incoref.Resolver, folder: Path, count: int = 60) -> None:
    encoder, inside, turns = resolver.model.encoder, 0.0, 0
    read = encoder.read

    def timed(block: np.ndarray, state: EncoderState) -> tuple[np.ndarray, EncoderState]:
        nonlocal inside
        started = time.thread_time()
        answer = read(block, state)
        inside += time.thread_time() - started
        return answer

    encoder.read = timed  # type: ignore[method-assign]
    started = time.thread_time()
    for dialogue in islice(dialogues(folder), count):
        session = resolver.session()
        for text, speaker in dialogue:
            session.say(text, speaker)
            turns += 1
    whole = time.thread_time() - started
    print(f"\na turn: {1000 * whole / turns:.1f} ms, of which the encoder {1000 * inside / turns:.1f} ms")


if __name__ == "__main__":
    loaded = incoref.load()
    costs(loaded.model.encoder)
    share(loaded, Path(sys.argv[1]))
