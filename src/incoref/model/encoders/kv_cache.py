"""An encoder whose blocks attend to earlier ones through the cached keys and values of the window.

The state is a value: it can be kept, copied for free and returned to. States share their cache's memory as long as
only one of them continues; if a second one does, it gets a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.model.encoders.runtime import Floats, Ints, processors
from incoref.model.windows import WindowSizes, kept_tail

_CAPACITY_STEP = 128
_HIDDEN = np.float32(-1e9)


class _Graph:
    """``encoder.onnx`` in ONNX Runtime, and its sizes."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self.session = session
        inputs = {item.name: item for item in session.get_inputs()}
        self.past = [name for name in inputs if name.startswith("past.")]
        heads, _, width = inputs[self.past[0]].shape
        self.heads, self.head_width = int(heads), int(width)
        self.width = int(self.session.get_outputs()[0].shape[1])
        self._spare: dict[int, _Room] = {}

    def room(self, places: int) -> _Room:
        """Return memory for at least this many places, reused if possible, since allocating it takes time."""
        capacity = -(-places // _CAPACITY_STEP) * _CAPACITY_STEP
        return self._spare.pop(capacity, None) or _Room(self, capacity)

    def give_back(self, room: _Room) -> None:
        """Keep a room for reuse, one per capacity."""
        self._spare[room.capacity] = room


class _Room:
    """Memory for keys and values, bound to the graph's inputs and outputs."""

    def __init__(self, graph: _Graph, capacity: int) -> None:
        # Unused places are masked, but a mask doesn't hide a NaN: hence zeros. Values left by other texts are finite.
        self.values: Floats = np.zeros((len(graph.past), graph.heads, capacity, graph.head_width), np.float32)
        self.capacity = capacity
        self.binding = graph.session.io_binding()
        for name, values in zip(graph.past, self.values, strict=True):
            # The same memory for input and output: the graph copies nothing and only writes the new places.
            memory = onnxruntime.OrtValue.ortvalue_from_numpy(values)
            self.binding.bind_ortvalue_input(name, memory)
            self.binding.bind_ortvalue_output(name.replace("past.", "present.", 1), memory)


class _Cache:
    """Keys and values of a window, (2 x layers, heads, capacity, width of a head), filled from the front.

    The graph writes new ones in place. Places are claimed first, so that no two readers write to the same ones, and
    only the reader that claimed the last places runs the graph on this memory.
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
        """Return the cache to write ``added`` places after the first ``used``: this one, or a copy of those."""
        with self._lock:
            if self._claimed == used and used + added <= self.capacity:
                self._claimed += added
                return self
        twin = _Cache(self._graph, used + added)
        twin.values[:, :, :used] = self.values[:, :, :used]
        twin._claimed = used + added
        return twin

    def inputs(self, blocks: Sequence[Ints], used: int) -> dict[str, npt.NDArray[Any]]:
        """Return the graph's inputs for blocks after ``used`` places, apart from the cache."""
        ids = np.concatenate(blocks)
        mask = np.full((len(ids), self.capacity), _HIDDEN)
        mask[:, :used] = 0
        end = used
        for block in blocks:
            mask[end - used :, end : end + len(block)] = 0
            end += len(block)
        return {"ids": ids, "places": np.arange(used, end), "mask": mask}

    def run(self, blocks: Sequence[Ints], used: int) -> Floats:
        """Encode blocks after ``used`` places; writes their keys and values into the places claimed for them."""
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

    blocks: tuple[Ints, ...] = ()
    cache: _Cache | None = None
    used: int = 0
    """Places of the cache that belong to this state."""
    opened: int = 0
    """How many blocks were read in the pass that opened the window; the others were read one by one."""

    @property
    def nbytes(self) -> int:
        """Memory held by the state, in bytes."""
        values = 0 if self.cache is None else int(self.cache.values.nbytes)
        return values + sum(block.nbytes for block in self.blocks)


class KVCacheEncoder:
    def __init__(
        self, session: onnxruntime.InferenceSession, sizes: WindowSizes, start_symbol: int, threads: int = 1
    ) -> None:
        self._graph = _Graph(session)
        self.sizes, self.start_symbol = sizes, start_symbol
        self.calls = self.readers = max(1, processors() // threads)

    def start(self) -> EncoderState:
        return EncoderState()

    def encode(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Return the vectors of a block's sub-words, (n, width), and the state after it."""
        self.sizes.check(len(block))
        lengths = [len(b) for b in state.blocks]
        if not self.sizes.fits(lengths, len(block)):
            kept = kept_tail(lengths, len(block), self.sizes)
            return self._open(state.blocks[len(lengths) - kept :], block)
        if state.cache is None:
            return self._open((), block)
        cache = state.cache.claim(state.used, len(block))
        vectors = cache.run([block], state.used)
        return vectors, EncoderState((*state.blocks, block), cache, state.used + len(block), state.opened)

    def encode_all(self, blocks: Sequence[Ints]) -> None:
        """Return None: a block's vectors depend on earlier blocks."""

    def packed(self, state: EncoderState) -> EncoderState:
        """Return what must be kept to go back to a state: all but its keys and values."""
        return EncoderState(state.blocks, opened=state.opened)

    def unpacked(self, packed: EncoderState, later: EncoderState) -> EncoderState:
        """Restore a packed state: with the cache of a later one if it is of the same window, else rebuilt."""
        blocks = packed.blocks
        if not blocks:
            return self.start()
        if packed.opened == later.opened and all(map(is_, blocks, later.blocks)) and len(blocks) <= len(later.blocks):
            return EncoderState(blocks, later.cache, 1 + sum(map(len, blocks)), packed.opened)
        return self.rebuilt(blocks, packed.opened)

    def rebuilt(self, blocks: Sequence[Ints], opened: int = 1) -> EncoderState:
        """Rebuild the state of a window with these blocks, bit for bit, reading them in the same passes as before.

        Other passes would give other bits: an int8 product's scale depends on everything that is read at once.
        """
        if not blocks:
            return self.start()
        state = self._open(tuple(blocks[: opened - 1]), blocks[opened - 1])[1]
        for block in blocks[opened:]:
            state = self.encode(block, state)[1]
        return state

    def _open(self, context: tuple[Ints, ...], block: Ints) -> tuple[Floats, EncoderState]:
        """Open a new window: read the start symbol, the context and a block in one pass."""
        blocks = (*context, block)
        used = 1 + sum(len(b) for b in blocks)
        cache = _Cache(self._graph, used).claim(0, used)
        vectors = cache.run([np.array([self.start_symbol]), *blocks], 0)
        return vectors[used - len(block) :], EncoderState(blocks, cache, used, len(blocks))
