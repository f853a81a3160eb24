"""The encoder at run time: sub-words of a block in, their vectors out, with keys and values of the window cached.

Runs ``encoder.onnx`` in ONNX Runtime. The state is a value: it can be kept, copied for nothing and gone back to.
States share their cache's memory as long as only one of them goes on; a second one that does gets a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.errors import IncorefError
from incoref.windows import WindowSizes, kept_tail

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_CAPACITY_STEP = 128
_HIDDEN = np.float32(-1e9)


class _Cache:
    """Keys and values of a window, (layers, 2, heads, capacity, width of a head), filled from the front."""

    def __init__(self, shape: tuple[int, int, int], capacity: int) -> None:
        layers, heads, width = shape
        self.values: Floats = np.zeros((layers, 2, heads, capacity, width), np.float32)
        self.filled = 0
        self.lock = Lock()

    @property
    def capacity(self) -> int:
        return int(self.values.shape[3])

    def appended(self, used: int, added: Floats) -> _Cache:
        """This cache, or a copy of its first ``used`` places, with keys and values added after them."""
        end = used + added.shape[3]
        with self.lock:
            if self.filled == used and end <= self.capacity:
                self.values[:, :, :, used:end] = added
                self.filled = end
                return self
        layers, _, heads, _, width = self.values.shape
        capacity = -(-end // _CAPACITY_STEP) * _CAPACITY_STEP
        twin = _Cache((layers, heads, width), capacity)
        twin.values[:, :, :, :used] = self.values[:, :, :, :used]
        twin.values[:, :, :, used:end] = added
        twin.filled = end
        return twin


@dataclass(frozen=True, slots=True)
class EncoderState:
    """The open window: its blocks' sub-words, and their keys and values."""

    blocks: tuple[Ints, ...]
    cache: _Cache
    used: int
    """Places of the cache that belong to this state."""
    opened: int = 0
    """How many of the blocks were read in the one pass that opened the window; the others came one by one."""


class Encoder:
    def __init__(self, path: Path, sizes: WindowSizes, start_symbol: int, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime raises classes of its own that share no base
            raise IncorefError(f"{path}: ONNX Runtime can't load this encoder: {error}") from error
        self.sizes, self.start_symbol = sizes, start_symbol
        self._past = [item.name for item in self._session.get_inputs() if item.name.startswith("past.")]
        heads, _, width = self._session.get_inputs()[-1].shape
        self._shape = (len(self._past) // 2, int(heads), int(width))

    def start(self) -> EncoderState:
        return EncoderState((), _Cache(self._shape, _CAPACITY_STEP), 0)

    def read(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Vectors of a block's sub-words, (n, width), and the state after it."""
        if len(block) > self.sizes.longest_block:
            raise ValueError(f"a block of {len(block)} sub-words; at most {self.sizes.longest_block} fit")
        lengths = [len(b) for b in state.blocks]
        if sum(lengths) + len(block) > self.sizes.capacity:
            kept = kept_tail(lengths, len(block), self.sizes)
            return self._open(state.blocks[len(lengths) - kept :], block)
        if not state.blocks:
            return self._open((), block)
        vectors, added = self._run([block], state.cache.values, state.used)
        cache = state.cache.appended(state.used, added)
        return vectors, EncoderState((*state.blocks, block), cache, state.used + len(block), state.opened)

    def rebuilt(self, blocks: Sequence[Ints], opened: int) -> EncoderState:
        """The state of a window with these blocks, bit for bit: they are read in the same passes as before.

        Other passes would not do: an int8 product's scale depends on all that is read at once.
        """
        if not blocks:
            return self.start()
        state = self._open(tuple(blocks[: opened - 1]), blocks[opened - 1])[1]
        for block in blocks[opened:]:
            state = self.read(block, state)[1]
        return state

    def _open(self, context: tuple[Ints, ...], block: Ints) -> tuple[Floats, EncoderState]:
        """A new window: the start symbol, context and a block, in one pass."""
        empty = _Cache(self._shape, 1)  # a hidden place: products over none are not ONNX Runtime's strong side
        vectors, added = self._run([np.array([self.start_symbol]), *context, block], empty.values, 0)
        blocks = (*context, block)
        used = 1 + sum(len(b) for b in blocks)
        cache = empty.appended(0, added)
        return vectors[len(vectors) - len(block) :], EncoderState(blocks, cache, used, len(blocks))

    def _run(self, blocks: Sequence[Ints], past: Floats, used: int) -> tuple[Floats, Floats]:
        """Vectors, and keys and values (layers, 2, heads, n, width of a head), of blocks after ``used`` places."""
        ids = np.concatenate(blocks)
        number = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
        capacity = past.shape[3]
        mask = np.zeros((len(ids), capacity + len(ids)), np.float32)
        mask[:, used:capacity] = _HIDDEN
        if len(blocks) > 1:
            mask[:, capacity:][number[:, None] < number[None, :]] = _HIDDEN
        feeds = {"ids": ids, "positions": used + np.arange(len(ids)), "mask": mask}
        feeds |= dict(zip(self._past, past.reshape(len(self._past), *past.shape[2:]), strict=True))
        vectors, added = self._session.run(["vectors", "added"], feeds)
        layers, heads, width = self._shape
        return vectors, added.reshape(layers, 2, heads, len(ids), width)
