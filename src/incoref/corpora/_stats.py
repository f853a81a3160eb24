"""Corpus statistics: counts of documents, words, mentions and entities, and how mentions overlap."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from itertools import groupby

from incoref.types import Document


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over documents; can be added."""

    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    mentions: int = 0
    clusters: int = 0
    singletons: int = 0
    """Clusters with a single mention."""
    nested: int = 0
    """Mentions within a longer one."""
    crossing: int = 0
    """Mentions that start inside another and end outside it."""
    duplicated: int = 0
    """Mentions with the same span as another; the first isn't counted."""
    across_sentences: int = 0
    """Mentions that span more than one sentence."""
    speakers: int = 0
    """Distinct speakers per document, summed over documents."""

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def to_json(self) -> dict[str, int]:
        return asdict(self)


def statistics(documents: Iterable[Document]) -> Statistics:
    """Compute the statistics of all documents together."""
    return sum(map(_of_document, documents), start=Statistics())


def _of_document(document: Document) -> Statistics:
    spans = sorted((mention.tokens for mention in document.mentions), key=lambda span: (span[0], -span[1]))
    ends: list[int] = []
    for sentence in document.sentences:
        ends.append((ends[-1] if ends else 0) + len(sentence.tokens))
    return Statistics(
        documents=1,
        sentences=len(document.sentences),
        tokens=ends[-1] if ends else 0,
        mentions=len(spans),
        clusters=len(document.entities),
        singletons=sum(len(entity) == 1 for entity in document.entities),
        nested=_nested(spans),
        crossing=_crossing(spans),
        duplicated=len(spans) - len(set(spans)),
        across_sentences=sum(bisect_right(ends, first) != bisect_right(ends, end - 1) for first, end in spans),
        speakers=len({sentence.speaker for sentence in document.sentences} - {None}),
    )


def _nested(spans: list[tuple[int, int]]) -> int:
    """Count spans within a longer one; spans are sorted by start, longest first."""
    count, furthest = 0, 0
    for (_, end), alike in groupby(spans):
        if end <= furthest:
            count += len(list(alike))
        furthest = max(furthest, end)
    return count


def _crossing(spans: list[tuple[int, int]]) -> int:
    """Count spans that start inside an earlier one and end after it."""
    count = 0
    ends: list[int] = []
    for first, group in groupby(spans, key=lambda span: span[0]):
        new = [end for _, end in group]
        del ends[: bisect_right(ends, first)]
        if ends:
            count += sum(end > ends[0] for end in new)
        for end in new:
            insort(ends, end)
    return count
