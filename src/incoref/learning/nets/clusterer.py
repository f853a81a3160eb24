"""The clusterer: span vectors, entity vectors, and a score for every mention–entity pair.

An entity's vector is the running mean of its mentions' vectors, so under teacher forcing all its states are known at
once: entity state j is the entity of mention j just after mention j joined it. A pair is then a mention and an
earlier state, and all pairs of a document are scored in a few products, in blocks under a memory cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

from incoref.learning.data.decisions import NEW
from incoref.learning.data.pairs import Pairs
from incoref.learning.nets.layers import ClassBias, Dropout, FeatureTables, SplitLinear, beside
from incoref.model.layout import PAIR_PARTS, SPAN_PARTS


@dataclass(frozen=True, slots=True)
class ClustererSizes:
    """Defaults are the paper's, except ``vector``; the paper has no projection."""

    vector: int
    projection: int | None = None
    feature: int = 20
    hidden: int = 3000
    dropout: float = 0.3
    new_hidden: int | None = None
    """Hidden size of a learned score for a new entity; None means the paper's constant."""
    types: int = 0
    """Number of entity types to classify, as a second task."""
    class_bias: tuple[str, ...] = ()
    """Pair features whose classes also add a bias directly to the score, past the hidden layer."""


@dataclass(frozen=True, slots=True)
class Founded:
    """Entities from earlier parts of a document, without gradients."""

    vectors: Tensor  # (E, size) mean of each entity's mentions
    counts: np.ndarray  # (E,) mentions of each


class Clusterer(nn.Module):
    def __init__(
        self, sizes: ClustererSizes, span_features: Mapping[str, int], pair_features: Mapping[str, int]
    ) -> None:
        super().__init__()
        self.sizes = sizes
        self.attention = nn.Linear(sizes.vector, 1)
        self.span_features = FeatureTables(span_features, sizes.feature)
        span = 3 * sizes.vector + self.span_features.width
        self.projection = None if sizes.projection is None else nn.Linear(span, sizes.projection)
        size = span if sizes.projection is None else sizes.projection
        self.pair_features = FeatureTables(pair_features, sizes.feature)
        self.hidden = SplitLinear(
            dict(zip(PAIR_PARTS, (size, size, size, self.pair_features.width), strict=True)), sizes.hidden
        )
        self.class_bias = (
            ClassBias({name: pair_features[name] for name in sizes.class_bias}) if sizes.class_bias else None
        )
        self.dropout = Dropout(sizes.dropout)
        self.output = nn.Linear(sizes.hidden, 1)
        self.new_entity = None
        if sizes.new_hidden is not None:
            self.new_entity = nn.Sequential(
                nn.Linear(size, sizes.new_hidden), nn.ReLU(), nn.Linear(sizes.new_hidden, 1)
            )
        self.types = nn.Linear(size, sizes.types) if sizes.types else None

    def spans(self, vectors: Tensor, first: np.ndarray, last: np.ndarray, classes: Mapping[str, Tensor]) -> Tensor:
        """Return the vectors of the spans (first, last; both inclusive), (M, size)."""
        widths = last - first + 1
        span = beside(vectors, np.repeat(np.arange(len(first)), widths))
        inside = np.arange(widths.sum()) - np.repeat(np.cumsum(widths) - widths, widths) + np.repeat(first, widths)
        token = beside(vectors, inside)
        score = self.attention(vectors).squeeze(-1).index_select(0, token)
        highest = score.new_full((len(first),), -torch.inf).scatter_reduce(0, span, score.detach(), "amax")
        weight = torch.exp(score - highest.index_select(0, span))
        total = score.new_zeros(len(first)).index_add(0, span, weight)
        weighted = vectors.index_select(0, token) * (weight / total.index_select(0, span))[:, None]
        mean = vectors.new_zeros(len(first), vectors.shape[1]).index_add(0, span, weighted)
        parts = {
            "first": vectors.index_select(0, beside(vectors, first)),
            "last": vectors.index_select(0, beside(vectors, last)),
            "mean": mean,
        }
        if self.span_features.tables:
            parts["width"] = self.span_features(classes)
        joined = torch.cat([parts[name] for name in SPAN_PARTS if name in parts], dim=-1)
        return joined if self.projection is None else self.projection(joined)

    def new_scores(self, spans: Tensor) -> Tensor | float:
        """Return the scores of creating an entity, one per mention, or the paper's 0."""
        return 0.0 if self.new_entity is None else self.new_entity(spans).squeeze(-1)

    @staticmethod
    def entity_states(spans: Tensor, entity_of: np.ndarray, founded: Founded | None = None) -> Tensor:
        """Return the mean of each mention's entity up to and including the mention, (M, size).

        If there are ``founded`` entities, their vectors come first: (E + M, size).
        """
        entity = beside(spans, entity_of)
        same = torch.tril(entity[:, None] == entity[None, :]).to(spans.dtype)
        count = same.sum(dim=1, keepdim=True)
        if founded is None or not len(founded.counts):
            return (same / count) @ spans
        new = np.maximum(entity_of.max(initial=-1) + 1 - len(founded.counts), 0)
        before = beside(spans, np.pad(founded.counts, (0, int(new)))).to(spans.dtype)[entity, None]
        earlier = nn.functional.pad(founded.vectors, (0, 0, 0, int(new))).index_select(0, entity)
        joined = ((same / (count + before)) @ spans) + earlier * (before / (count + before))
        return torch.cat([founded.vectors, joined])

    def forward(
        self,
        spans: Tensor,
        states: Tensor,
        pairs: Pairs,
        classes: Mapping[str, Tensor],
        memory_cap: int = 1 << 30,
        bf16: bool = False,
    ) -> Tensor:
        """Return the scores of all pairs, (P,). With ``bf16``, the hidden layer of the pairs is computed in bfloat16.

        If the activations of all pairs need more than ``memory_cap`` bytes, pairs are scored in blocks that fit, and
        each block is recomputed in the backward pass.
        """
        mention, state = beside(spans, pairs.mention), beside(spans, pairs.state)
        precision = torch.bfloat16 if bf16 else spans.dtype
        weights = self.hidden.weights()
        of_mention = linear(spans, weights["mention"], self.hidden.bias).to(precision)
        of_entity = linear(states, weights["entity"]).to(precision)
        spans, states = spans.to(precision), states.to(precision)
        of_product, of_features = weights["product"].to(precision), weights["features"].to(precision)

        def scores(i: Tensor, j: Tensor, some: Mapping[str, Tensor]) -> Tensor:
            hidden = (
                linear(spans.index_select(0, i) * states.index_select(0, j), of_product)
                + linear(self.pair_features(some, precision), of_features)
                + of_mention.index_select(0, i)
                + of_entity.index_select(0, j)
            )
            out: Tensor = self.output(self.dropout(torch.relu(hidden)).to(self.output.weight.dtype)).squeeze(-1)
            return out if self.class_bias is None else out + self.class_bias(some)

        inner_values = (
            4 * spans.shape[1] + 5 * self.sizes.hidden + 2 * self.pair_features.width
        )  # per pair, at the peak
        block = max(1, memory_cap // (inner_values * spans.element_size()))
        if len(mention) <= block:
            return scores(mention, state, classes)
        of_parts = []
        for start in range(0, len(mention), block):
            rows = slice(start, start + block)
            some = {name: value[rows] for name, value in classes.items()}
            of_parts.append(checkpoint(scores, mention[rows], state[rows], some, use_reentrant=False))
        return torch.cat(of_parts)


def choices(
    scores: Tensor, new: Tensor | float, pairs: Pairs, entity_of: np.ndarray, founded: int = 0
) -> tuple[Tensor, np.ndarray]:
    """Return the scores of each mention's choices, (M, entities + 1), and the index of the right one, (M,).

    The last choice is a new entity, with score ``new``: the paper's constant, or one score per mention. Entities that
    are created later score minus infinity. ``founded`` entities exist before the first mention.
    """
    count = len(entity_of)
    entities = int(entity_of.max(initial=founded - 1)) + 1
    table = scores.new_full((count, entities + 1), -torch.inf)
    table = table.index_put((beside(scores, pairs.mention), beside(scores, pairs.entity)), scores)
    table[:, entities] = new
    newest = np.maximum.accumulate(np.concatenate([[founded - 1], entity_of]))[:-1]  # newest entity before each
    return table, np.where(entity_of > newest, entities, entity_of)


def clustering_loss(
    scores: Tensor, new: Tensor | float, pairs: Pairs, entity_of: np.ndarray, founded: int = 0
) -> Tensor:
    """Return the cross-entropy of each mention's choice among the entities before it and a new one, (M,)."""
    table, right = choices(scores, new, pairs, entity_of, founded)
    return nn.functional.cross_entropy(table, beside(scores, right), reduction="none")


def soft_clustering_loss(
    scores: Tensor,
    new: Tensor | float,
    pairs: Pairs,
    entity_of: np.ndarray,
    mention: np.ndarray,
    entity: np.ndarray,
    share: Tensor,
) -> Tensor:
    """Return the mean cross-entropy of the mentions' choices with another model's distributions.

    That model gave ``share`` to the choice of ``entity`` for ``mention``; NEW stands for a new entity.
    """
    table, _ = choices(scores, new, pairs, entity_of)
    column = np.where(entity == NEW, table.shape[1] - 1, entity)
    log_probabilities = table.log_softmax(dim=1)[beside(scores, mention), beside(scores, column)]
    return -(share * log_probabilities).sum() / len(entity_of)
