"""A stateless encoder: it reads every block alone, and batches blocks of several texts in one call.

A block's vectors are bit-identical whatever it is batched with, so reading a text again in other batches gives the
same entities. This requires that a block's padded length depends only on its own length.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.model.encoders.batching import Batcher
from incoref.model.encoders.kv_cache import EncoderState
from incoref.model.encoders.runtime import Floats, Ints, processors
from incoref.model.windows import WindowSizes

_SHORTEST_LINE, _LINE_STEP = 16, 8
"""Attention time grows with the square of the padded length."""
_MOST_ROWS = 64
"""Sub-words per batched call; larger calls are no cheaper per sub-word, only longer."""
_MANY_ROWS = 384
"""The same when nobody is waiting for an answer."""
_COMPANY = 3
"""Threads per concurrent call, so that some wait during a call and are batched in the next one."""


class StatelessEncoder:
    def __init__(self, session: onnxruntime.InferenceSession, sizes: WindowSizes, threads: int = 1) -> None:
        self._session, self.sizes = session, sizes
        self.calls = max(1, processors() // threads)
        self.readers = self.calls * _COMPANY
        self._batcher = Batcher(self.vectors, self.calls, _MOST_ROWS)

    def start(self) -> EncoderState:
        return EncoderState()

    def encode(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Return the vectors of a block's sub-words, (n, width), and the unchanged state."""
        self.sizes.check(len(block))
        return self._batcher(block, _line(len(block)), len(block)), state

    def encode_all(self, blocks: Sequence[Ints]) -> list[Floats]:
        """Return the vectors of many blocks, batching those with the same padded length."""
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
        """Encode blocks with the same padded length in one call."""
        if len(blocks) == 1:
            found: Floats = self._session.run(["vectors"], {"ids": blocks[0], **_layout_of_one(len(blocks[0]))})[0]
            return [found]
        lengths = [len(block) for block in blocks]
        rows = self._session.run(["vectors"], {"ids": np.concatenate(blocks), **_layout(lengths)})[0]
        return np.split(rows, np.cumsum(lengths)[:-1])


def _layout(lengths: Sequence[int]) -> dict[str, npt.NDArray[Any]]:
    """Return the inputs of the graph that say which rows are whose, for blocks of these lengths."""
    rows = sum(lengths)
    grid = np.full((len(lengths), _line(max(lengths))), rows)
    mask = np.zeros(grid.shape, np.int32)
    for line, (length, end) in enumerate(zip(lengths, accumulate(lengths), strict=True)):
        grid[line, 1 : length + 1] = np.arange(end - length, end)
        mask[line, : length + 1] = 1
    places = np.concatenate([np.arange(1, length + 1) for length in lengths])
    cells = places + np.repeat(np.arange(len(lengths)) * grid.shape[1], lengths)
    return {"places": places, "grid": grid, "cells": cells, "mask": mask}


@lru_cache(maxsize=256)
def _layout_of_one(length: int) -> dict[str, npt.NDArray[Any]]:
    return _layout([length])


def _batches(blocks: Sequence[Ints]) -> Iterator[list[int]]:
    """Group blocks into batches, as indices: with the same padded length and a limited number of sub-words."""
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
    """Return a block's padded length, with the start symbol; few distinct lengths make batching likely."""
    return max(_SHORTEST_LINE, -(-(length + 1) // _LINE_STEP) * _LINE_STEP)
