"""Operations on clusters of token ranges: truncate them, restrict them to segments, or put them into a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from incoref.analysis.systems import Clusters
from incoref.types import Document, Entity, Mention


def sentence_ends(document: Document) -> list[int]:
    """Return the number of tokens up to the end of each sentence."""
    return list(accumulate(len(sentence) for sentence in document.sentences))


def sentence_of_token(document: Document) -> list[int]:
    return [number for number, sentence in enumerate(document.sentences) for _ in sentence.tokens]


def before(clusters: Iterable[Iterable[tuple[int, int]]], end: int) -> Clusters:
    """Keep the spans that end at or before token ``end``; drop clusters that become empty."""
    cut = ([span for span in cluster if span[1] <= end] for cluster in clusters)
    return [cluster for cluster in cut if cluster]


def within_segments(clusters: Clusters, sentence_of: Sequence[int], size: int) -> Clusters:
    """Remove links between segments of ``size`` sentences, and mentions that become singletons."""
    inside: Clusters = []
    for cluster in clusters:
        parts: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for span in cluster:
            parts[sentence_of[span[0]] // size].append(span)
        inside += [part for part in parts.values() if len(part) > 1]
    return inside


def without_singletons(clusters: Clusters) -> Clusters:
    return [cluster for cluster in clusters if len(cluster) > 1]


def annotated(document: Document, named: Mapping[str, Iterable[tuple[int, int]]]) -> Document:
    """Return the document with its entities replaced by ``named``."""
    sentences, tokens = sentence_of_token(document), document.tokens

    def mention(span: tuple[int, int], name: str) -> Mention:
        start, end = tokens[span[0]].start, tokens[span[1] - 1].end
        return Mention(start, end, document.text[start:end], span, sentences[span[0]], name)

    entities = (Entity(name, tuple(mention(span, name) for span in sorted(spans))) for name, spans in named.items())
    return replace(document, entities=tuple(entities))
