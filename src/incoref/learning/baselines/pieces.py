"""A document cut into sub-word pieces, as the baselines read it, and the vectors of its pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from incoref.learning.baselines.encoders import Encoder

Span = tuple[int, int]
"""First and last piece."""
Clusters = list[list[Span]]


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces that the encoder reads at once, and which of their vectors are used: ``used_from`` to ``used_to``."""

    ids: tuple[int, ...]
    used_from: int
    used_to: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """A document of T pieces, some of which may be special symbols."""

    windows: tuple[Window, ...]
    sentence: tuple[int, ...]
    """Number of the sentence of every piece, (T,)."""
    segment: tuple[int, ...]
    """Number of the segment of every piece, (T,)."""
    speaker: tuple[int, ...]
    """Number of the speaker of every piece, (T,)."""
    word: tuple[int, ...]
    """Number of the word of every piece, (T,); -1 for a symbol that belongs to none."""
    genre: int = 0
    clusters: tuple[tuple[Span, ...], ...] = ()
    """The gold clusters."""

    def __len__(self) -> int:
        return len(self.sentence)

    @property
    def ids(self) -> tuple[int, ...]:
        """Number of every piece in the vocabulary, (T,)."""
        return tuple(id for window in self.windows for id in window.ids[window.used_from : window.used_to])

    def segment_bounds(self) -> list[tuple[int, int]]:
        """First piece of every segment, and the one after its last."""
        starts = [n for n, segment in enumerate(self.segment) if n == 0 or segment != self.segment[n - 1]]
        return list(zip(starts, [*starts[1:], len(self)], strict=True))

    @property
    def gold(self) -> dict[Span, int]:
        """The number of every gold span's cluster, from 0; a span in several clusters belongs to the last."""
        return {span: number for number, cluster in enumerate(self.clusters) for span in cluster}


Encode = Callable[[Sequence[Window]], Tensor]
"""The used vectors of some windows, (T, vector)."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system finds in a document, and the work that it took."""

    clusters: Clusters
    spans: int
    """Spans that were scored."""
    comparisons: int
    """Pairs of spans, or of a span and an entity, that were scored."""


def encode(encoder: Encoder, windows: Sequence[Window], recompute: bool = False) -> Tensor:
    """The used vectors of some windows, (T, width). A piece attends to its whole window and to nothing else."""
    device = next(encoder.parameters()).device
    lengths = [len(window.ids) for window in windows]
    ids = torch.tensor([id for window in windows for id in window.ids], device=device)
    positions = torch.cat([torch.arange(length, device=device) for length in lengths])
    blocks = [torch.zeros(length, dtype=torch.long, device=device) for length in lengths]
    vectors = encoder(ids, positions, lengths, blocks, recompute).split(lengths)
    used = zip(vectors, windows, strict=True)
    return torch.cat([rows[window.used_from : window.used_to] for rows, window in used])
