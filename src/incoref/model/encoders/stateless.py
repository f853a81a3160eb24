"""An encoder that reads every block alone: no state, and blocks of several texts in one call.

A block's vectors are the same, to the last bit, whatever is read with it: so a text can be read again, in other
company, and gives the same entities. For that the grid in which a block stands must have the same length each time,
which depends on the block's own length only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import onnxruntime

from incoref.model.encoders.batching import Batcher
from incoref.model.encoders.kv_cache import EncoderState
from incoref.model.encoders.runtime import Floats, Ints, processors
from incoref.model.windows import WindowSizes

_SHORTEST_LINE, _LINE_STEP = 16, 8
"""Attention takes time by the square of a line's length, empty places included."""
_MOST_ROWS = 64
"""Sub-words in one call of several blocks: more make it no cheaper, only longer."""
_MANY_ROWS = 192
"""The same where nobody waits for an answer."""
_COMPANY = 3
"""Threads for each call that can run, so that some wait, and go together, while it does."""


class StatelessEncoder:
    def __init__(self, session: onnxruntime.InferenceSession, sizes: WindowSizes, threads: int = 1) -> None:
        self._session, self.sizes = session, sizes
        self.calls = max(1, processors() // threads)
        self.readers = self.calls * _COMPANY
        self._batcher = Batcher(self.vectors, self.calls, _MOST_ROWS)

    def start(self) -> EncoderState:
        return EncoderState()

    def encode(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Vectors of a block's sub-words, (n, width), and the state after it, which is the same."""
        self.sizes.check(len(block))
        return self._batcher(block, _line(len(block)), len(block)), state

    def encode_all(self, blocks: Sequence[Ints]) -> list[Floats]:
        """The vectors of many blocks, those of like length in one call."""
        for block in blocks:
            self.sizes.check(len(block))
        vectors: dict[int, Floats] = {}
        for batch in _batches(blocks):
            vectors.update(zip(batch, self.vectors([blocks[number] for number in batch]), strict=True))
        return [vectors[number] for number in range(len(blocks))]

    def packed(self, state: EncoderState) -> EncoderState:
        return state

    def unpacked(self, packed: EncoderState, later: EncoderState) -> EncoderState:
        return packed

    def rebuilt(self, blocks: Sequence[Ints], opened: int = 1) -> EncoderState:
        return self.start()

    def vectors(self, blocks: Sequence[Ints]) -> list[Floats]:
        """Vectors of some blocks whose lines are of one length, in one call."""
        lengths = [len(block) for block in blocks]
        ends = np.cumsum(lengths)
        rows = int(ends[-1])
        grid = np.full((len(blocks), _line(max(lengths))), rows)
        mask = np.zeros(grid.shape, np.int32)
        for line, (length, end) in enumerate(zip(lengths, ends, strict=True)):
            grid[line, 1 : length + 1] = np.arange(end - length, end)
            mask[line, : length + 1] = 1
        places = np.concatenate([np.arange(1, length + 1) for length in lengths])
        cells = places + np.repeat(np.arange(len(blocks)) * grid.shape[1], lengths)
        rows_of_vectors = self._session.run(
            ["vectors"],
            {"ids": np.concatenate(blocks), "places": places, "grid": grid, "cells": cells, "mask": mask},
        )[0]
        return np.split(rows_of_vectors, ends[:-1])


def _batches(blocks: Sequence[Ints]) -> Iterator[list[int]]:
    """The numbers of blocks that go together: their lines are of one length, and their rows not too many."""
    of_line: dict[int, list[int]] = defaultdict(list)
    for number, block in enumerate(blocks):
        of_line[_line(len(block))].append(number)
    for numbers in of_line.values():
        batch: list[int] = []
        room = _MANY_ROWS
        for number in numbers:
            if batch and len(blocks[number]) > room:
                yield batch
                batch, room = [], _MANY_ROWS
            batch.append(number)
            room -= len(blocks[number])
        yield batch


def _line(length: int) -> int:
    """Places for a block of this length after the start symbol: few lengths, so that blocks find company."""
    return max(_SHORTEST_LINE, -(-(length + 1) // _LINE_STEP) * _LINE_STEP)
