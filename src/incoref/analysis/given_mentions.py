"""Run a model with given mentions, to measure the quality of its links alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from incoref.analysis.systems import Clusters, ModelSystem, System
from incoref.evaluation.metrics import token_clusters
from incoref.model.detector import Step
from incoref.model.folder import word_means
from incoref.model.step import Seen
from incoref.model.subwords import joined, utterances_of
from incoref.model.transitions import Action, Span
from incoref.types import Document


class GivenMentions:
    """A model that links the annotated mentions of a document instead of detecting its own."""

    def __init__(self, system: ModelSystem) -> None:
        self._system = system
        self.name = f"{system.name}, annotated mentions"
        self.digest = f"{system.digest} given mentions"

    def clusters(self, document: Document) -> Clusters:
        spans = {(first, end - 1) for cluster in token_clusters(document) for first, end in cluster}
        return linked(self._system, document, spans)


def told_mentions(system: System) -> GivenMentions | None:
    """Return the system with given mentions, or None if it can't take them."""
    return GivenMentions(system) if isinstance(system, ModelSystem) else None


def linked(system: ModelSystem, document: Document, spans: Iterable[Span]) -> Clusters:
    """Cluster the given mentions (first and last token); mentions that cross a block boundary are dropped."""
    model, options = system.model, system.options
    classes = model.classes(options.scheme, options.genre)
    blocks = model.blocks(utterances_of(document), model.block_size(system.setting))
    rest = sorted(spans, key=lambda span: (span[1], -span[0]))  # in the order of detection: inner mentions first
    state, encoder, place = model.heads.start(), model.encoder.start(), 0
    clusters: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for block in blocks:
        subwords = joined([part for _, part in block])
        vectors, encoder = model.encoder.encode(subwords.ids, encoder)
        words = word_means(vectors, subwords)
        inside = [(first - place, last - place) for first, last in _within(rest, place, place + len(words))]
        spans_inside = model.heads.clusters.spans(words, inside) if inside else []
        seen = Seen(
            tuple(Step(last, Action.POP, {Action.POP: 1.0}, (first, last)) for first, last in inside),
            (*spans_inside,),
        )
        state, result = model.heads.resolved([utterance for utterance, _ in block], seen, state, classes)
        for mention in result.mentions:
            clusters[mention.entity].append((mention.first, mention.last + 1))
        place += len(words)
    return list(clusters.values())


def _within(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    return [span for span in spans if start <= span[0] and span[1] < end]
