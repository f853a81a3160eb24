"""Learning on the model's own decisions: the mentions that it finds, the clusters that it makes of them.

At run time a mention meets clusters as the model has made them, wrong ones too, and mentions that are none. What is
right for a mention then is to join any cluster that is mostly of its entity, or else to found one: it learns to leave
a cluster that is another's, though some of its own went there. A mention that is none in the gold annotation is alone
in its entity. The running side's code takes the decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from incoref.learning.data.examples import (
    NO_TYPE,
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


@dataclass(frozen=True, slots=True)
class OwnDecisions:
    """What the model decides itself in a text, and what is taken from the gold annotation."""

    heads: Heads
    reading: Reading
    genre: int
    mentions: bool
    clusters: bool

    def __call__(self, annotation: Annotation, vectors: Tensor) -> Clustering:
        """Mentions and clusters under the annotation's scheme, from the vectors of the words (N, vector)."""
        classes = {"genre": self.genre, "scheme": self.heads.names.schemes.index(annotation.scheme)}
        rows = vectors.detach().cpu().numpy()
        gold = annotation.gold
        gold_spans = annotation.derivation.spans
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

    def _found(self, rows: Floats, classes: Mapping[str, int]) -> list[Span]:
        """The mentions that the detector finds."""
        found, before = [], 0
        for length in self.reading.chunks:
            steps = decode(self.heads.actions.begin(rows[before : before + length], classes), length)
            found += [(s.mention[0] + before, s.mention[1] + before) for s in steps if s.mention is not None]
            before += length
        return found

    def _clustered(self, rows: Floats, spans: Sequence[Span], classes: Mapping[str, int]) -> Ints:
        """The entity into which the clusterer puts each mention."""
        clusters = self.heads.clusters
        memory, constant = clusters.empty(), clusters.constant(classes)
        vectors, facts = clusters.spans(rows, spans), mention_facts(self.reading, spans)
        decisions = (
            clusters.assign(memory, vector, fact, constant) for vector, fact in zip(vectors, facts, strict=True)
        )
        return np.array([decision.entity for decision in decisions], np.int64)


def own_clustering_loss(scores: Tensor, new: Tensor | float, found: Clustering) -> Tensor:
    """Of each mention, minus the logarithm of the probability of all that is right for it, (M,).

    ``scores`` are those of the pairs, ``new`` those of founding an entity.
    """
    count, entities = len(found), int(found.entity_of.max(initial=-1)) + 1
    table = scores.new_full((count, entities + 1), -torch.inf)
    table = table.index_put((beside(scores, found.pairs.mention), beside(scores, found.pairs.entity)), scores)
    table[:, entities] = new
    right = right_choices(found, entities)
    of_right = torch.logsumexp(table.masked_fill(~beside(scores, right), -torch.inf), dim=1)
    return torch.logsumexp(table, dim=1) - of_right


def right_choices(found: Clustering, entities: int) -> np.ndarray:
    """Which clusters are mostly of its entity when each mention comes; if none is, a new one, (M, entities + 1).

    Of entities with as many mentions in a cluster, it is the first one's that had so many.
    """
    golds = int(found.gold_of.max(initial=-1)) + 1
    counts = np.zeros((entities, golds), np.int64)
    mostly = np.full(entities, -1)
    right = np.zeros((len(found), entities + 1), bool)
    for row, cluster, gold in zip(right, found.entity_of.tolist(), found.gold_of.tolist(), strict=True):
        row[:-1] = mostly == gold
        counts[cluster, gold] += 1
        if mostly[cluster] < 0 or counts[cluster, gold] > counts[cluster, mostly[cluster]]:
            mostly[cluster] = gold
    right[:, -1] = ~right.any(axis=1)
    return right
