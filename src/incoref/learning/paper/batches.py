"""A document with gold actions as NumPy arrays, batch by batch: everything known before any score is computed.

Free of torch; ``model.py`` turns these arrays into scores and losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incoref.learning.data.derivation import Derivation, Ints, derive
from incoref.learning.data.pairs import Pairs, pairs_of
from incoref.learning.paper.chunks import plan, seen_before
from incoref.learning.paper.config import PaperConfig
from incoref.learning.paper.document import PaperDocument, split_actions, stretches
from incoref.learning.paper.features import (
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
class Clustering:
    """A batch's M mentions and P mention–entity pairs, given E entities created before it."""

    entity_of: Ints  # (M,) gold entity
    founded: Ints  # (E,) mentions of each entity before the batch
    pairs: Pairs
    count: Ints  # (P,) class of the entity's mention count
    distance: Ints  # (P,) class of the number of mentions since its last one
    previous: Ints  # (P,) class of the clustering action before the mention
    latest_states: Ints  # state of every entity after the batch, as numbered in ``pairs``


@dataclass(frozen=True, slots=True)
class PaperBatch:
    """One batch: n encoder tokens, T steps, M mentions."""

    ids: Ints  # (n,) encoder input
    lengths: tuple[int, ...]  # encoder tokens of each piece
    seen: tuple[int, ...]  # cached tokens before each piece
    buffer: Ints | None  # positions of the buffer tokens among the n; None: all
    derivation: Derivation
    width: Ints  # (T,) class of the stack's width
    span_width: Ints  # (M,) class
    speaker: Ints  # (M,) class
    clustering: Clustering
    mentions_so_far: int  # in the document, including this batch


def paper_batches(document: PaperDocument, config: PaperConfig) -> list[PaperBatch]:
    """Return the batches of a document with gold actions."""
    batches = plan(document.lengths, config)
    chunks = [[stretches(length, config) for length in document.chunk_lengths(batch)] for batch in batches]
    lengths = [length for of_batch in chunks for chunk in of_batch for length in chunk]
    actions = iter(split_actions(document.actions, lengths))
    entity_of = np.asarray(document.entity_of, np.int64)
    previous = _previous(entity_of)
    counts, latest = np.zeros(0, np.int64), np.zeros(0, np.int64)  # per entity so far
    made = []
    cached, token, mention = 0, 0, 0
    for batch, of_batch in zip(batches, chunks, strict=True):
        derivation = derive([(length, next(actions)) for chunk in of_batch for length in chunk])
        mentions = slice(mention, mention + len(derivation.first))
        if config.reference:
            ends = np.cumsum([sum(chunk) for chunk in of_batch])
            previous[mentions][_first_of_each(np.searchsorted(ends, derivation.last, side="right"))] = START
        clustering = _clustering(entity_of[mentions], counts, latest, previous[mentions], mention, config)
        speakers = np.asarray(document.speakers_of(batch), np.int64)
        piece_lengths = tuple(sum(document.lengths[piece.first : piece.end]) for piece in batch.pieces)
        seen = tuple(seen_before(document.lengths, batch.pieces, cached))
        made.append(
            PaperBatch(
                ids=np.asarray(document.ids_of(batch.first, batch.end), np.int64),
                lengths=piece_lengths,
                seen=seen,
                buffer=None if document.buffer is None else np.asarray(document.buffer_of(batch), np.int64),
                derivation=derivation,
                width=stack_width_class(derivation.width, derivation.token + token, config),
                span_width=span_width_class(derivation.last - derivation.first, config),
                speaker=speaker_class(speakers[derivation.last], config),
                clustering=clustering,
                mentions_so_far=mentions.stop,
            )
        )
        counts = np.bincount(entity_of[: mentions.stop], minlength=len(counts))
        latest = np.append(latest, np.arange(mention, mentions.stop))[clustering.latest_states]
        cached, token, mention = seen[-1] + piece_lengths[-1], token + len(speakers), mentions.stop
    return made


def _previous(entity_of: Ints) -> Ints:
    """Return the clustering action before each mention of a document."""
    newest = np.maximum.accumulate(np.concatenate([[-1], entity_of]))
    actions = np.where(np.diff(newest) > 0, NEW, LINKED)
    return np.concatenate([[START], actions])[:-1] if len(entity_of) else actions


def _first_of_each(group: Ints) -> Ints:
    return np.flatnonzero(np.diff(group, prepend=-1))


def _clustering(
    entity_of: Ints, counts: Ints, latest: Ints, previous: Ints, mention: int, config: PaperConfig
) -> Clustering:
    """Describe the mentions from number ``mention`` on, given each earlier entity's count and latest mention."""
    founded, new = len(counts), np.arange(mention, mention + len(entity_of))
    pairs = pairs_of(entity_of, founded)
    order = np.argsort(entity_of, kind="stable")
    rank = np.empty_like(order)  # number of earlier mentions of the same entity in this batch
    sizes = np.bincount(entity_of, minlength=founded)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    before = np.append(counts, np.zeros(len(sizes) - founded, np.int64))
    state_count = np.append(counts, before[entity_of] + rank + 1)
    state_mention = np.append(latest, new)
    latest_states = np.arange(len(sizes))
    latest_states[entity_of] = founded + np.arange(len(entity_of))  # for repeated entities, the last assignment wins
    return Clustering(
        entity_of=entity_of,
        founded=counts,
        pairs=pairs,
        count=count_class(state_count[pairs.state], config),
        distance=distance_class(new[pairs.mention] - state_mention[pairs.state], config),
        previous=previous[pairs.mention],
        latest_states=latest_states,
    )
