"""How a document is divided for the paper's model: encoder pieces, detector chunks and backpropagation batches.

A *piece* is what the encoder reads in one pass, after some cached tokens. A *chunk* is a range whose end no mention
may cross. A *batch* is a range whose gradients are computed together. All are ranges of sentences, so this module
needs only sentence lengths in tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from incoref.learning.paper.config import PaperConfig, Setting


@dataclass(frozen=True, slots=True)
class Piece:
    """Sentences ``first`` up to but not including ``end``, read together after up to ``cache`` cached tokens."""

    first: int
    end: int
    cache: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive pieces, and the detector chunks of the same sentences as half-open (first, end) ranges."""

    pieces: tuple[Piece, ...]
    chunks: tuple[tuple[int, int], ...]

    @property
    def first(self) -> int:
        return self.pieces[0].first

    @property
    def end(self) -> int:
        return self.pieces[-1].end


def plan(lengths: Sequence[int], config: PaperConfig) -> list[Batch]:
    """Divide a document, given the lengths of its sentences in encoder tokens, none of them zero."""
    if not lengths:
        return []
    if config.setting is Setting.PART_INC:
        return [_part_inc(lengths, config)]
    k = 1 if config.setting is Setting.SENT_INC else config.k
    batches = []
    for first, end in _batch_ranges(len(lengths), k, config):
        batch_length = sum(lengths[first:end])
        pieces = []
        for start in range(first, end, k):
            stop = min(start + k, end)
            active = sum(lengths[start:stop])
            pieces.append(Piece(start, stop, _cache(active, batch_length, config)))
        batches.append(_batch(pieces))
    return batches


def _batch_ranges(sentences: int, k: int, config: PaperConfig) -> Iterator[tuple[int, int]]:
    """Yield sentence ranges; in paper mode, ``backprop_sentences`` is rounded up to a multiple of k."""
    size = config.backprop_sentences if config.reference else -(-config.backprop_sentences // k) * k
    for first in range(0, sentences, size):
        yield first, min(first + size, sentences)


def _cache(active: int, batch_length: int, config: PaperConfig) -> int:
    if config.reference and config.setting is Setting.SENT_INC and config.cache is not None:
        return config.cache
    room = config.window
    if config.reference and config.setting is Setting.K_SENTENCE:
        room = min(room, batch_length)
    left = max(0, room - active)
    return left if config.cache is None else min(left, config.cache)


def _part_inc(lengths: Sequence[int], config: PaperConfig) -> Batch:
    """Divide into segments: as given in reference mode; else of as many whole sentences as fit beside the cache."""
    cache = config.cache or 0
    if config.reference:
        pieces = [Piece(i, i + 1, cache) for i in range(len(lengths))]
        return Batch(tuple(pieces), ((0, len(lengths)),))
    pieces = []
    first, active = 0, 0
    for i, length in enumerate(lengths):
        if i > first and active + length > config.window - cache:
            pieces.append(Piece(first, i, cache))
            first, active = i, 0
        active += length
    pieces.append(Piece(first, len(lengths), cache))
    return _batch(pieces)


def _batch(pieces: Sequence[Piece]) -> Batch:
    return Batch(tuple(pieces), tuple((piece.first, piece.end) for piece in pieces))


def seen_before(lengths: Sequence[int], pieces: Sequence[Piece], cached: int = 0) -> list[int]:
    """Return the number of cached tokens that each piece sees, given ``cached`` tokens before the first.

    Tokens that one piece doesn't see are lost to later ones: the recurrence passes on only what the piece saw, plus
    the piece itself.
    """
    seen = []
    for piece in pieces:
        cached = min(piece.cache, cached)
        seen.append(cached)
        cached += sum(lengths[piece.first : piece.end])
    return seen
