"""Gold mentions of a document as spans: the entity of each, and which of them no derivation can produce, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from incoref.model import transitions
from incoref.model.transitions import Span
from incoref.types import Document

SAME_SPAN = "same span as another"
ACROSS = "across a block's end"
CROSSING = "crossing another"


@dataclass(frozen=True, slots=True)
class GoldMentions:
    """Entity and type of every span (first and last token, both inclusive)."""

    entities: dict[Span, str]
    types: dict[Span, str | None]
    same_span: Counter[str]
    """How many further mentions had the same span as one of these."""


def gold_mentions(document: Document) -> GoldMentions:
    """Return the mentions of a document; entities that share a span are merged."""
    leader = {entity.id: entity.id for entity in document.entities}

    def find(entity: str) -> str:
        while leader[entity] != entity:
            entity = leader[entity]
        return entity

    owner: dict[Span, str] = {}
    types: dict[Span, str | None] = {}
    total = 0
    for mention in document.mentions:
        span = (mention.tokens[0], mention.tokens[1] - 1)
        if span in owner:
            leader[find(mention.entity)] = find(owner[span])
        owner[span] = mention.entity
        types[span] = mention.type
        total += 1
    same_span = +Counter({SAME_SPAN: total - len(owner)})
    return GoldMentions({span: find(entity) for span, entity in owner.items()}, types, same_span)


def by_chunk(spans: Iterable[Span], lengths: Sequence[int]) -> list[list[Span]]:
    """Group spans by the chunk they start in, with tokens counted from its start."""
    ends = np.cumsum(lengths)
    inside: list[list[Span]] = [[] for _ in lengths]
    for first, last in spans:
        chunk = int(np.searchsorted(ends, first, side="right"))
        offset = int(ends[chunk]) - lengths[chunk]
        inside[chunk].append((first - offset, last - offset))
    return inside


def dropped(spans: Iterable[Span], kept: Iterable[Span], lengths: Sequence[int]) -> Counter[str]:
    """Count by reason the spans that a derivation over these chunks can't produce, all but ``kept``."""
    reasons: Counter[str] = Counter()
    ends = np.cumsum(lengths)
    for first, last in set(spans) - set(kept):
        chunks = np.searchsorted(ends, (first, last), side="right")
        reasons[ACROSS if chunks[0] != chunks[1] else CROSSING] += 1
    return reasons


def chunk_actions(spans: Iterable[Span], lengths: Sequence[int]) -> list[tuple[int, list[transitions.Action]]]:
    """Return every chunk's length, and the derivation of the spans that can be derived in it."""
    return [
        (length, transitions.oracle(transitions.derivable(some, length).kept, length))
        for length, some in zip(lengths, by_chunk(spans, lengths), strict=True)
    ]
