"""The encoder at run time: sub-words of a block in, their vectors out, with keys and values of the window cached.

Runs ``encoder.onnx`` in ONNX Runtime. The state is a value: it can be kept, copied for nothing and gone back to.
States share their cache's memory as long as only one of them goes on; a second one that does gets a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.errors import IncorefError
from incoref.windows import WindowSizes, kept_tail

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_CAPACITY_STEP = 128
_HIDDEN = np.float32(-1e9)


class _Graph:
    """``encoder.onnx`` in ONNX Runtime, and what it says of itself."""

    def __init__(self, path: Path, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime raises classes of its own that share no base
            raise IncorefError(f"{path}: ONNX Runtime can't load this encoder: {error}") from error
        inputs = {item.name: item for item in self.session.get_inputs()}
        self.past = [name for name in inputs if name.startswith("past.")]
        heads, _, width = inputs[self.past[0]].shape
        self.heads, self.head_width = int(heads), int(width)
        self.width = int(self.session.get_outputs()[0].shape[1])
        self._spare: dict[int, _Room] = {}

    def room(self, places: int) -> _Room:
        """Room for so many places or a few more; one that was given back, if any: new memory costs time."""
        capacity = -(-places // _CAPACITY_STEP) * _CAPACITY_STEP
        return self._spare.pop(capacity, None) or _Room(self, capacity)

    def give_back(self, room: _Room) -> None:
        """Keep a room for later, one of each size."""
        self._spare[room.capacity] = room


class _Room:
    """Memory for keys and values, bound to the graph's inputs and outputs."""

    def __init__(self, graph: _Graph, capacity: int) -> None:
        # Places without a key are masked; zeros, because no mask hides a NaN. What another text left is finite.
        self.values: Floats = np.zeros((len(graph.past), graph.heads, capacity, graph.head_width), np.float32)
        self.capacity = capacity
        self.binding = graph.session.io_binding()
        for name, values in zip(graph.past, self.values, strict=True):
            # The same memory on both sides: the graph then has nothing to copy, only the new places to write.
            memory = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            self.binding.bind_ortvalue_input(name, memory)
            self.binding.bind_ortvalue_output(name.replace("past.", "present.", 1), memory)


class _Cache:
    """Keys and values of a window, (2 x layers, heads, capacity, width of a head), filled from the front.

    The graph writes new ones into their places. Places are claimed first, so that no two readers write to the same,
    and whoever has claimed the last places is the only one who runs the graph on this memory.
    """

    def __init__(self, graph: _Graph, places: int) -> None:
        self._graph = graph
        room = graph.room(places)
        self.values, self._binding = room.values, room.binding
        self._claimed = 0
        self._lock = Lock()
        finalize(self, graph.give_back, room).atexit = False

    @property
    def capacity(self) -> int:
        return int(self.values.shape[2])

    def claim(self, used: int, added: int) -> _Cache:
        """Where ``added`` places after the first ``used`` can be written: this cache, or a copy of those."""
        with self._lock:
            if self._claimed == used and used + added <= self.capacity:
                self._claimed += added
                return self
        twin = _Cache(self._graph, used + added)
        twin.values[:, :, :used] = self.values[:, :, :used]
        twin._claimed = used + added
        return twin

    def inputs(self, blocks: Sequence[Ints], used: int) -> dict[str, npt.NDArray[Any]]:
        """What the graph is told of blocks after ``used`` places, beside the cache."""
        ids = np.concatenate(blocks)
        mask = np.full((len(ids), self.capacity), _HIDDEN)
        mask[:, :used] = 0
        end = used
        for block in blocks:
            mask[end - used :, end : end + len(block)] = 0
            end += len(block)
        return {"ids": ids, "places": np.arange(used, end), "mask": mask}

    def run(self, blocks: Sequence[Ints], used: int) -> Floats:
        """Vectors of blocks after ``used`` places; writes their keys and values into the places claimed for them."""
        inputs = self.inputs(blocks, used)
        vectors = np.empty((len(inputs["ids"]), self._graph.width), np.float32)
        for name, value in inputs.items():
            self._binding.bind_cpu_input(name, value)
        self._binding.bind_ortvalue_output("vectors", onnxruntime.OrtValue.ortvalue_from_numpy(vectors))
        self._graph.session.run_with_iobinding(self._binding)
        return vectors


@dataclass(frozen=True, slots=True)
class EncoderState:
    """The open window: its blocks' sub-words, and their keys and values."""

    blocks: tuple[Ints, ...]
    cache: _Cache
    used: int
    """Places of the cache that belong to this state."""
    opened: int = 0
    """How many of the blocks were read in the one pass that opened the window; the others came one by one."""

    @property
    def nbytes(self) -> int:
        """Memory that the state holds on to."""
        return int(self.cache.values.nbytes) + sum(block.nbytes for block in self.blocks)


class Encoder:
    def __init__(self, path: Path, sizes: WindowSizes, start_symbol: int, threads: int = 1) -> None:
        self._graph = _Graph(path, threads)
        self.sizes, self.start_symbol = sizes, start_symbol
        self._empty = _Cache(self._graph, 0)

    def start(self) -> EncoderState:
        return EncoderState((), self._empty, 0)

    def read(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Vectors of a block's sub-words, (n, width), and the state after it."""
        if len(block) > self.sizes.longest_block:
            raise ValueError(f"a block of {len(block)} sub-words; at most {self.sizes.longest_block} fit")
        lengths = [len(b) for b in state.blocks]
        if not self.sizes.fits(lengths, len(block)):
            kept = kept_tail(lengths, len(block), self.sizes)
            return self._open(state.blocks[len(lengths) - kept :], block)
        if not state.blocks:
            return self._open((), block)
        cache = state.cache.claim(state.used, len(block))
        vectors = cache.run([block], state.used)
        return vectors, EncoderState((*state.blocks, block), cache, state.used + len(block), state.opened)

    def packed(self, state: EncoderState) -> EncoderState:
        """What must be kept to go back to a state, without its keys and values."""
        return EncoderState(state.blocks, self._empty, 0, state.opened)

    def unpacked(self, packed: EncoderState, later: EncoderState) -> EncoderState:
        """A state to go on from: with the cache of a later one, if that is of the same window, else rebuilt."""
        blocks = packed.blocks
        if packed.opened == later.opened and all(map(is_, blocks, later.blocks)) and len(blocks) <= len(later.blocks):
            used = 1 + sum(map(len, blocks)) if blocks else 0
            return EncoderState(blocks, later.cache, used, packed.opened)
        return self.rebuilt(blocks, packed.opened)

    def rebuilt(self, blocks: Sequence[Ints], opened: int = 1) -> EncoderState:
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
        blocks = (*context, block)
        used = 1 + sum(len(b) for b in blocks)
        cache = _Cache(self._graph, used).claim(0, used)
        vectors = cache.run([np.array([self.start_symbol]), *blocks], 0)
        return vectors[used - len(block) :], EncoderState(blocks, cache, used, len(blocks))
