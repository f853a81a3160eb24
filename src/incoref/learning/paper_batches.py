"""A document with gold actions as arrays, batch by batch: all that is known about it before any score is.

This module knows no tensors; ``paper.py`` turns these arrays into scores and losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incoref.learning.chunks import Batch, plan, seen_before
from incoref.learning.clusterer import Pairs, pairs_of
from incoref.learning.derivation import Derivation, Ints, derive
from incoref.learning.paper_config import PaperConfig
from incoref.learning.paper_document import PaperDocument, split_actions, stretches
from incoref.learning.paper_features import (
    LINKED,
    NEW,
    START,
    count_class,
    distance_class,
    span_width_class,
    speaker_class,
    stack_width_class,
)


@dataclass(frozen=True, slots=True)
class PaperBatch:
    """One batch: n encoder tokens, T steps, M mentions, P (mention, entity) pairs, E entities founded before it."""

    ids: Ints  # (n,) encoder input
    lengths: tuple[int, ...]  # encoder tokens of each piece
    seen: tuple[int, ...]  # cached tokens before each piece
    buffer: Ints | None  # which of the n are buffer tokens; None: all
    derivation: Derivation
    width: Ints  # (T,) classes of the stack's width
    span_width: Ints  # (M,) classes
    speaker: Ints  # (M,) classes
    entity_of: Ints  # (M,) gold entity
    founded: Ints  # (E,) mentions of the entities founded before
    pairs: Pairs
    count: Ints  # (P,) classes
    distance: Ints  # (P,) classes
    previous: Ints  # (P,) classes
    latest_states: Ints  # (entities after the batch,) state of each, as numbered in ``pairs``
    mentions_so_far: int  # of the document, this batch included


def paper_batches(document: PaperDocument, config: PaperConfig) -> list[PaperBatch]:
    """The batches of a document that has gold actions."""
    batches = plan(document.lengths, config)
    chunks = [[stretches(length, config) for length in document.chunk_lengths(batch)] for batch in batches]
    lengths = [length for batch_chunks in chunks for chunk in batch_chunks for length in chunk]
    actions = iter(split_actions(document.actions, lengths))
    entities = _Entities(np.asarray(document.entity_of, np.int64), config)
    found = []
    cached, token, previous = 0, 0, START
    for batch, batch_chunks in zip(batches, chunks, strict=True):
        derivation = derive([(length, next(actions)) for chunk in batch_chunks for length in chunk])
        chunk_tokens = np.cumsum([sum(chunk) for chunk in batch_chunks])
        chunk_of_mention = np.searchsorted(chunk_tokens, derivation.last, side="right")
        speakers = np.asarray(document.speakers_of(batch), np.int64)
        lengths_of_pieces = [sum(document.lengths[piece.first : piece.end]) for piece in batch.pieces]
        seen = seen_before(document.lengths, batch.pieces, cached)
        clusters = entities.read(chunk_of_mention, previous)
        found.append(
            PaperBatch(
                ids=np.asarray(document.ids_of(batch.first, batch.end), np.int64),
                lengths=tuple(lengths_of_pieces),
                seen=tuple(seen),
                buffer=_buffer(document, batch),
                derivation=derivation,
                width=stack_width_class(derivation.width, derivation.token + token, config),
                span_width=span_width_class(derivation.last - derivation.first, config),
                speaker=speaker_class(speakers[derivation.last], config),
                **clusters.fields,
            )
        )
        previous = clusters.previous
        cached = seen[-1] + lengths_of_pieces[-1]
        token += len(speakers)
    return found
