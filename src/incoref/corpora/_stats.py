"""Figures of a corpus: how much there is of what, and what mentions do to each other."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from itertools import groupby

from incoref.types import Document


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over documents; they add up."""

    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    mentions: int = 0
    clusters: int = 0
    singletons: int = 0
    """Clusters of one mention."""
    nested: int = 0
    """Mentions inside a longer one."""
    crossing: int = 0
    """Mentions that start inside another and end outside it."""
    duplicated: int = 0
    """Mentions with the words of one counted before."""
    across_sentences: int = 0
    """Mentions that end in another sentence than they start in."""
    speakers: int = 0
    """Different speakers in each document."""

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def to_json(self) -> dict[str, int]:
        return asdict(self)


def statistics(documents: Iterable[Document]) -> Statistics:
    """The figures of documents taken together."""
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
    """How many lie inside a longer one; spans come in order of their start, longer first."""
    count, furthest = 0, 0
    for (_, end), alike in groupby(spans):
        if end <= furthest:
            count += len(list(alike))
        furthest = max(furthest, end)
    return count


def _crossing(spans: list[tuple[int, int]]) -> int:
    """How many start inside one that started before and end after it."""
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
