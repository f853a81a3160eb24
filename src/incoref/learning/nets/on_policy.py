"""Training on the model's own decisions: the mentions that it finds, and the clusters that it makes of them.

At run time, a mention meets clusters as the model has made them, including wrong ones, and spans that are not gold
mentions. The right choice for a mention is then any cluster that mostly belongs to its entity, or else a new one: the
model learns to avoid a cluster of another entity even if some mentions of its own went there. A mention that isn't in
the gold annotation is alone in its entity. The decisions are made by the run-time code.

Under a partial annotation, all other mentions are the model's own, and only the annotated pronouns are learned from.
Their right choices are the clusters that hold another mention of the same gold entity; if it has none, a new entity
and all clusters without an annotated mention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from incoref.learning.data.examples import (
    NO_TYPE,
    NOT_ANNOTATED,
    Annotation,
    Clustering,
    Ints,
    Reading,
    clustering,
    mention_facts,
    numbered,
)
from incoref.learning.nets.layers import beside
from incoref.model.clusterer import Floats
from incoref.model.detector import decode
from incoref.model.step import Heads
from incoref.model.transitions import Span
from incoref.text.english import head_of


@dataclass(frozen=True)
class OwnDecisions:
    """Which decisions in a text are the model's own, and which are taken from the gold annotation."""

    heads: Heads
    reading: Reading
    genre: int
    mentions: bool
    clusters: bool

    def __call__(self, annotation: Annotation, vectors: Tensor) -> Clustering:
        """Return mentions and clusters under the annotation's scheme, from the vectors of the words (N, vector)."""
        classes = {"genre": self.genre, "scheme": self.heads.names.schemes.index(annotation.scheme)}
        rows = vectors.detach().cpu().numpy()
        gold = annotation.gold
        gold_spans = annotation.derivation.spans
        if annotation.partial:
            return self._completed(annotation, rows, classes)
        spans = self._found(rows, classes) if self.mentions else gold_spans
        of_span = {span: number for number, span in enumerate(gold_spans)}
        places = [of_span.get(span) for span in spans]
        gold_of = numbered(
            ("alone", number) if place is None else ("gold", int(gold.gold_of[place]))
            for number, place in enumerate(places)
        )
        types = np.array([NO_TYPE if place is None else gold.types[place] for place in places], np.int64)
        entity_of = self._clustered(rows, spans, classes) if self.clusters else gold_of
        return clustering(self.reading, spans, entity_of, gold_of, types)

    def _completed(self, annotation: Annotation, rows: Floats, classes: Mapping[str, int]) -> Clustering:
        """Return the model's own mentions and clusters, completed with those of a partial annotation."""
        predicted, gold_of_span = self._found(rows, classes), dict[Span, int]()
        for span, entity in zip(annotation.derivation.spans, annotation.entity_of.tolist(), strict=True):
            around = [own for own in predicted if own == span or self._stands_for(own, span)]
            gold_of_span[min(around, key=lambda own: own[1] - own[0], default=span)] = entity
        # In order of derivation: inner mentions first.
        spans = sorted({*predicted, *gold_of_span}, key=lambda span: (span[1], -span[0]))
        gold_of = np.array([gold_of_span.get(span, NOT_ANNOTATED) for span in spans], np.int64)
        types = np.full(len(spans), NO_TYPE)
        return clustering(self.reading, spans, self._clustered(rows, spans, classes), gold_of, types)

    def _stands_for(self, own: Span, span: Span) -> bool:
        """Whether a longer mention has its head inside this span: "Anna Kern, who had come early" is "Anna Kern"."""
        if not (own[0] <= span[0] and span[1] <= own[1]):
            return False
        head = own[0] + head_of([word.lower() for word in self._words[own[0] : own[1] + 1]])
        return span[0] <= head <= span[1]

    @cached_property
    def _words(self) -> list[str]:
        return [word for block in self.reading.utterances for utterance in block for word in utterance.words]

    def _found(self, rows: Floats, classes: Mapping[str, int]) -> list[Span]:
        """Return the mentions that the detector finds."""
        spans, before = [], 0
        for length in self.reading.chunks:
            steps = decode(self.heads.actions.begin(rows[before : before + length], classes), length)
            spans += [(s.mention[0] + before, s.mention[1] + before) for s in steps if s.mention is not None]
            before += length
        return spans

    def _clustered(self, rows: Floats, spans: Sequence[Span], classes: Mapping[str, int]) -> Ints:
        """Return the entity that the clusterer assigns to each mention."""
        clusters = self.heads.clusters
        memory, constant = clusters.empty(), clusters.constant(classes)
        vectors, facts = clusters.spans(rows, spans), mention_facts(self.reading, spans)
        decisions = (
            clusters.assign(memory, vector, fact, constant) for vector, fact in zip(vectors, facts, strict=True)
        )
        return np.array([decision.entity for decision in decisions], np.int64)


def own_clustering_loss(scores: Tensor, new: Tensor | float, own: Clustering) -> Tensor:
    """Return, for each mention, minus the log-probability of all its right choices together, (M,).

    ``scores`` are those of the pairs, ``new`` those of creating an entity.
    """
    table = _table(scores, new, own)
    return _surprise(table, right_choices(own, table.shape[1] - 1))


def partial_loss(scores: Tensor, new: Tensor | float, own: Clustering) -> Tensor:
    """Return the same for the annotated pronouns whose right choices are known, (questions,)."""
    table = _table(scores, new, own)
    right = right_for_pronouns(own, table.shape[1] - 1)
    asked = np.flatnonzero(right.any(axis=1))
    return _surprise(table.index_select(0, beside(scores, asked)), right[asked])


def _table(scores: Tensor, new: Tensor | float, own: Clustering) -> Tensor:
    """Return the scores of each mention's choices, (M, entities + 1); the last one is a new entity."""
    count, entities = len(own), int(own.entity_of.max(initial=-1)) + 1
    table = scores.new_full((count, entities + 1), -torch.inf)
    table = table.index_put((beside(scores, own.pairs.mention), beside(scores, own.pairs.entity)), scores)
    table[:, entities] = new
    return table


def _surprise(table: Tensor, right: np.ndarray) -> Tensor:
    of_right = torch.logsumexp(table.masked_fill(~beside(table, right), -torch.inf), dim=1)
    return torch.logsumexp(table, dim=1) - of_right


def right_choices(own: Clustering, entities: int) -> np.ndarray:
    """Mark each mention's right choices: clusters mostly of its entity, or else a new one, (M, entities + 1).

    Clusters count as they are when the mention comes. On a tie, a cluster belongs to the entity that was first to
    have that many mentions in it.
    """
    golds = int(own.gold_of.max(initial=-1)) + 1
    counts = np.zeros((entities, golds), np.int64)
    mostly = np.full(entities, -1)
    right = np.zeros((len(own), entities + 1), bool)
    for row, cluster, gold in zip(right, own.entity_of.tolist(), own.gold_of.tolist(), strict=True):
        row[:-1] = mostly == gold
        counts[cluster, gold] += 1
        if mostly[cluster] < 0 or counts[cluster, gold] > counts[cluster, mostly[cluster]]:
            mostly[cluster] = gold
    right[:, -1] = ~right.any(axis=1)
    return right


def right_for_pronouns(own: Clustering, entities: int) -> np.ndarray:
    """Mark the right choices of each annotated pronoun, (M, entities + 1); none for all other mentions.

    Also none if the clusters with other mentions of its entity are created only after it.
    """
    right = np.zeros((len(own), entities + 1), bool)
    annotated = own.gold_of != NOT_ANNOTATED
    founded = np.zeros(entities, bool)
    for number, (cluster, gold) in enumerate(zip(own.entity_of.tolist(), own.gold_of.tolist(), strict=True)):
        if annotated[number] and own.pronoun[number]:
            others = annotated & (np.arange(len(own)) != number)
            same = own.entity_of[others & (own.gold_of == gold)]
            if len(same):
                right[number, same] = founded[same]
            else:
                right[number] = [*founded, True]
                right[number, own.entity_of[others]] = False
        founded[cluster] = True
    return right
