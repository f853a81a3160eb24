"""A document as sub-word pieces, the input of the baselines, and the encoding of its pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from incoref.learning.baselines.encoders import Encoder

Span = tuple[int, int]
"""First and last piece, inclusive."""
Clusters = list[list[Span]]


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces that the encoder reads at once; only vectors ``used_from`` to ``used_to`` (exclusive) are used."""

    ids: tuple[int, ...]
    used_from: int
    used_to: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """A document of T pieces, some of which may be special symbols."""

    windows: tuple[Window, ...]
    sentence: tuple[int, ...]
    """Sentence number per piece, (T,)."""
    segment: tuple[int, ...]
    """Segment number per piece, (T,)."""
    speaker: tuple[int, ...]
    """Speaker number per piece, (T,)."""
    word: tuple[int, ...]
    """Word index per piece, (T,); -1 for a special symbol."""
    genre: int = 0
    clusters: tuple[tuple[Span, ...], ...] = ()
    """Gold clusters."""

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def ids(self) -> tuple[int, ...]:
        """Vocabulary id per piece, (T,)."""
        return tuple(id for window in self.windows for id in window.ids[window.used_from : window.used_to])

    def segment_bounds(self) -> list[tuple[int, int]]:
        """Return the half-open piece range of every segment."""
        starts = [n for n, segment in enumerate(self.segment) if n == 0 or segment != self.segment[n - 1]]
        return list(zip(starts, [*starts[1:], len(self)], strict=True))

    @property
    def gold(self) -> dict[Span, int]:
        """Maps each gold span to its cluster's number, from 0; a span in several clusters belongs to the last."""
        return {span: number for number, cluster in enumerate(self.clusters) for span in cluster}


Encode = Callable[[Sequence[Window]], Tensor]
"""Returns the used vectors of some windows, (T, vector)."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Clusters that a system predicts for a document, and the amount of work."""

    clusters: Clusters
    spans: int
    """Number of spans scored."""
    comparisons: int
    """Number of span pairs, or span–entity pairs, scored."""
    kept: Any = None
    """What the system can use again when it reads more of the document; None for nothing."""


def encode(encoder: Encoder, windows: Sequence[Window], recompute: bool = False) -> Tensor:
    """Return the used vectors of some windows, (T, width); a piece attends to exactly its own window."""
    device = next(encoder.parameters()).device
    lengths = [len(window.ids) for window in windows]
    ids = torch.tensor([id for window in windows for id in window.ids], device=device)
    positions = torch.cat([torch.arange(length, device=device) for length in lengths])
    blocks = [torch.zeros(length, dtype=torch.long, device=device) for length in lengths]
    vectors = encoder(ids, positions, lengths, blocks, recompute).split(lengths)
    used = zip(vectors, windows, strict=True)
    return torch.cat([rows[window.used_from : window.used_to] for rows, window in used])
