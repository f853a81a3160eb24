"""Encoders at run time: map a block's sub-words to vectors, with ``encoder.onnx`` in ONNX Runtime.

There are two kinds: in ``kv_cache`` encoders, blocks attend to earlier ones; ``stateless`` ones encode every block
alone. A model folder's ``config.json`` names its kind.
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
"""The kinds of encoders, with inputs that their graphs must have."""


class Encoder(Protocol):
    """An encoder. Stateless: it serves many texts and threads."""

    @property
    def calls(self) -> int:
        """How many blocks it can read in parallel, each in its own call."""
        ...

    @property
    def readers(self) -> int:
        """How many threads can usefully read at once when there is much to read."""
        ...

    def start(self) -> EncoderState:
        """Return the state before any block has been read."""
        ...

    def encode(self, block: Ints, state: EncoderState) -> tuple[Floats, EncoderState]:
        """Return the vectors of a block's sub-words, (n, width), and the state after it."""
        ...

    def encode_all(self, blocks: Sequence[Ints]) -> list[Floats] | None:
        """Return the vectors of many blocks, or None if they depend on earlier blocks."""
        ...

    def packed(self, state: EncoderState) -> EncoderState:
        """Return what must be kept to go back to a state."""
        ...

    def unpacked(self, packed: EncoderState, later: EncoderState) -> EncoderState:
        """Restore a packed state; ``later`` is a state that came after it."""
        ...

    def rebuilt(self, blocks: Sequence[Ints], opened: int = 1) -> EncoderState:
        """Rebuild the state of a window, bit for bit; the first ``opened`` of its blocks were read in one pass."""
        ...


def load_encoder(
    path: Path, kind: str, sizes: WindowSizes, start_symbol: int, threads: int = 1, *, spin: bool = True
) -> Encoder:
    """Load ``encoder.onnx`` as an encoder of one of the ``KINDS``."""
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
