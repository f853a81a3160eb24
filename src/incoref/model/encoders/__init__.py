"""Encoders at run time: sub-words of a block in, their vectors out. Run ``encoder.onnx`` in ONNX Runtime.

There are two kinds: ``kv_cache``, whose blocks attend to those before them, and ``stateless``, which reads every
block alone. A model folder names its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from incoref.errors import IncorefError
from incoref.model.encoders.kv_cache import EncoderState, KVCacheEncoder
from incoref.model.encoders.runtime import Floats, Ints, loaded
from incoref.model.encoders.stateless import StatelessEncoder
from incoref.model.windows import WindowSizes

__all__ = ["Encoder", "EncoderState", "Floats", "Ints", "KVCacheEncoder", "StatelessEncoder", "load_encoder"]


KINDS = {"stateless": {"grid", "cells", "mask"}, "kv_cache": {"mask", "past.0.key"}}
"""The kinds of encoders, with some inputs of their graphs."""


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

    def encode(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Vectors of a block's sub-words, (n, width), and the state after it."""
        ...

    def encode_all(self, blocks: Sequence[Ints]) -> list[Floats] | None:
        """The vectors of many blocks, where they don't depend on what was read before; else None."""
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


def load_encoder(
    path: Path, kind: str, sizes: WindowSizes, start_symbol: int, threads: int = 1, *, spin: bool = True
) -> Encoder:
    """The encoder in ``encoder.onnx``, of one of the ``KINDS``."""
    if kind not in KINDS:
        raise IncorefError(f"{path.parent}: no kind of encoder is called '{kind}'; there are {', '.join(KINDS)}")
    session = loaded(path, threads, spin=spin)
    inputs = {given.name for given in session.get_inputs()}
    if not KINDS[kind] <= inputs:
        raise IncorefError(
            f"{path}: not a {kind} encoder, as config.json says: it has no input {min(KINDS[kind] - inputs)}"
        )
    if kind == "stateless":
        return StatelessEncoder(session, sizes, threads)
    return KVCacheEncoder(session, sizes, start_symbol, threads)
