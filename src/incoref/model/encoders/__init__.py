"""Encoders at run time: sub-words of a block in, their vectors out. Run ``encoder.onnx`` in ONNX Runtime.

There are two kinds: one whose blocks attend to those before them (``cached``), and one that reads every block alone
(``alone``). Which one a graph is, its inputs say.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from incoref.model.encoders.kv_cache import CachedEncoder, EncoderState
from incoref.model.encoders.runtime import Floats, Ints, loaded
from incoref.model.encoders.stateless import AloneEncoder
from incoref.model.windows import WindowSizes

__all__ = ["AloneEncoder", "CachedEncoder", "Encoder", "EncoderState", "Floats", "Ints", "load_encoder"]


class Encoder(Protocol):
    """Has no state of its own; serves many texts, from many threads."""

    @property
    def calls(self) -> int:
        """Blocks that it reads at once, each for itself."""
        ...

    @property
    def readers(self) -> int:
        """Threads that may usefully read at once, when much is to be read."""
        ...

    def start(self) -> EncoderState:
        """The state before anything was read."""
        ...

    def read(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Vectors of a block's sub-words, (n, width), and the state after it."""
        ...

    def packed(self, state: EncoderState) -> EncoderState:
        """What must be kept to go back to a state."""
        ...

    def unpacked(self, packed: EncoderState, later: EncoderState) -> EncoderState:
        """A state to go on from; ``later`` is one that came after it."""
        ...

    def rebuilt(self, blocks: Sequence[Ints], opened: int = 1) -> EncoderState:
        """The state of a window with these blocks, the first ``opened`` of them read in one pass, bit for bit."""
        ...


def load_encoder(path: Path, sizes: WindowSizes, start_symbol: int, threads: int = 1) -> Encoder:
    session = loaded(path, threads)
    if any(given.name == "grid" for given in session.get_inputs()):
        return AloneEncoder(session, sizes, threads)
    return CachedEncoder(session, sizes, start_symbol, threads)
