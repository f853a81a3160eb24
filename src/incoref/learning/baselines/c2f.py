"""c2f: coarse-to-fine span ranking (Lee et al. 2018), with any encoder (BERT: Joshi et al. 2019; SpanBERT: 2020).

All spans within a sentence are scored and the best non-crossing ones kept. A bilinear score selects a few candidate
antecedents for each; a feed-forward network scores these, and a span links to the best one or, at score 0, to none.
Independent of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.baselines.antecedents import NO_ANTECEDENT, clusters_of, gold_clusters, marginal_loss
from incoref.learning.baselines.config import C2FConfig
from incoref.learning.baselines.pieces import Clusters, Encode, Pieces, Prediction
from incoref.learning.baselines.reading import cut_segments
from incoref.learning.baselines.spans import (
    BUCKETS,
    PairScore,
    Spans,
    SpanScorer,
    best_without_crossing,
    bucket,
    candidates,
)
from incoref.learning.nets.layers import Dropout


@dataclass(frozen=True, slots=True)
class C2FScores:
    """All scores of a document, with n candidates, K kept spans and k antecedents per span."""

    candidates: Spans
    mention_scores: Tensor  # (n,)
    kept: Tensor  # (K,) indices of candidates
    spans: Spans
    vectors: Tensor  # (K, size)
    coarse_all: Tensor  # (K, K), minus infinity unless the column's span precedes the row's
    antecedents: Tensor  # (K, k), best coarse score first
    coarse: Tensor  # (K, k)
    fine: Tensor  # (K, k)
    scores: Tensor  # (K, 1 + k): no antecedent, then those in ``antecedents``
    attended: Attended | None

    @property
    def links(self) -> list[int]:
        """The antecedent of each kept span, or NO_ANTECEDENT."""
        choice = self.scores.argmax(dim=1)
        taken = self.antecedents.gather(1, (choice - 1).clamp(min=0)[:, None]).squeeze(1)
        return torch.where(choice == 0, NO_ANTECEDENT, taken).tolist()

    @property
    def clusters(self) -> Clusters:
        return clusters_of(self.spans.pairs(), self.links)

    @property
    def comparisons(self) -> int:
        """Number of span pairs compared."""
        return len(self.spans) * (len(self.spans) - 1) // 2


@dataclass(frozen=True, slots=True)
class Attended:
    """Intermediate values between the two passes when ``attended`` is set."""

    first_scores: Tensor  # (K, k), without the no-antecedent column
    attended: Tensor  # (K, size)
    gate: Tensor  # (K, size)
    vectors: Tensor  # (K, size)


class C2F(nn.Module):
    def __init__(self, config: C2FConfig, vector: int) -> None:
        super().__init__()
        self.config = config
        feature, hidden, dropout = config.feature, config.hidden, config.dropout
        self.span_scorer = SpanScorer(vector, feature, config.widest, hidden, dropout)
        size = self.span_scorer.size
        self.bilinear = nn.Linear(size, size)
        self.distance_prior = nn.Embedding(BUCKETS, feature)
        self.distance_score = nn.Linear(feature, 1)
        self.same_speaker = nn.Embedding(2, feature)
        self.genre = nn.Embedding(len(config.genres), feature)
        self.segment_distance = nn.Embedding(config.segments, feature)
        self.distance = nn.Embedding(BUCKETS, feature)
        self.pair_score = PairScore(size, 4 * feature, hidden, dropout)
        self.gate = nn.Linear(2 * size, size) if config.attended else None
        self.dropout = Dropout(dropout)

    def forward(self, pieces: Tensor, document: Pieces) -> C2FScores:
        """Score a document, given the vectors of its pieces, (T, vector)."""
        spans = candidates(_tensor(document.sentence, pieces), self.config.widest)
        mention_scores = self.span_scorer.scores(pieces, spans)
        count = int(min(self.config.most_spans, self.config.ratio * len(document)))
        kept = best_without_crossing(spans, mention_scores, count)
        top, top_scores = spans[kept], mention_scores[kept]
        vectors = self.span_scorer.vectors(pieces, top)
        coarse_all = self._coarse(vectors, top_scores)
        antecedents = coarse_all.argsort(dim=1, descending=True)[:, : self.config.antecedents]
        coarse = coarse_all.gather(1, antecedents)
        features = self._pair_features(document, top, antecedents)
        fine = self.pair_score.of_pairs(vectors, antecedents, features)
        scores, attended = _with_none(coarse + fine), None
        if self.gate is not None:
            attended = self._attended(vectors, antecedents, scores)
            fine = self.pair_score.of_pairs(attended.vectors, antecedents, features)
            scores = _with_none(coarse + fine)
        return C2FScores(
            spans, mention_scores, kept, top, vectors, coarse_all, antecedents, coarse, fine, scores, attended
        )

    def _coarse(self, vectors: Tensor, mention_scores: Tensor) -> Tensor:
        """Return m_i + m_j + (B g_i + b) · g_j + distance score, (K, K)."""
        place = torch.arange(len(vectors), device=vectors.device)
        distance = place[:, None] - place
        bilinear = self.dropout(self.bilinear(vectors)) @ self.dropout(vectors).T
        scores = mention_scores[:, None] + mention_scores + bilinear + self.distance_scores()[bucket(distance)]
        masked: Tensor = scores.masked_fill(distance <= 0, -torch.inf)
        return masked

    def distance_scores(self) -> Tensor:
        """Return each distance class's contribution to the coarse score, (classes,)."""
        scores: Tensor = self.distance_score(self.dropout(self.distance_prior.weight)).squeeze(1)
        return scores

    def _pair_features(self, document: Pieces, spans: Spans, antecedents: Tensor) -> Tensor:
        """Embed same speaker, genre, distance in segments and distance in spans, (K, k, 4 · feature)."""
        speaker, segment = (_tensor(of, antecedents)[spans.first] for of in (document.speaker, document.segment))
        same = (speaker[:, None] == speaker[antecedents]).long()
        segments_apart = (segment[:, None] - segment[antecedents]).clamp(0, self.config.segments - 1)
        place = torch.arange(len(spans), device=antecedents.device)
        genre = torch.full_like(antecedents, document.genre)
        features = [
            self.same_speaker(same),
            self.genre(genre),
            self.segment_distance(segments_apart),
            self.distance(bucket(place[:, None] - antecedents)),
        ]
        joined: Tensor = self.dropout(torch.cat(features, dim=-1))
        return joined

    def _attended(self, vectors: Tensor, antecedents: Tensor, scores: Tensor) -> Attended:
        """Move each span's vector towards the weighted mean of its antecedents; itself represents no antecedent."""
        assert self.gate is not None
        of_choices = torch.cat([vectors[:, None], vectors[antecedents]], dim=1)
        attended = torch.einsum("kc,kcs->ks", torch.softmax(scores, dim=1), of_choices)
        gate = torch.sigmoid(self.gate(torch.cat([vectors, attended], dim=1)))
        return Attended(scores[:, 1:], attended, gate, gate * attended + (1 - gate) * vectors)

    def loss(self, scores: C2FScores, document: Pieces) -> Tensor:
        """Return the configured loss, summed over spans."""
        gold = self.gold(scores, document)
        loss = self.hinge_loss(scores, gold) if self.config.loss == "hinge" else self.marginal_loss(scores, gold)
        if self.config.mention_loss:
            loss = loss + self.config.mention_loss * self.mention_loss(scores, document)
        return loss

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield the loss of a document; a long one is cut to a random range of segments."""
        segments = document.segment[-1] + 1
        if segments > self.config.segments:
            first = int(rng.integers(segments - self.config.segments + 1))
            document = cut_segments(document, first, self.config.segments)
        yield {"links": self.loss(self(encode(document.windows), document), document)}

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        scores = self(encode(document.windows), document)
        return Prediction(scores.clusters, len(scores.candidates), scores.comparisons)

    def gold(self, scores: C2FScores, document: Pieces) -> Tensor:
        """Return a mask of the correct entries of the scores, (K, 1 + k)."""
        cluster = gold_clusters(scores.spans.pairs(), document.gold, scores.kept)
        real = scores.coarse > -torch.inf
        same = (cluster[:, None] == cluster[scores.antecedents]) & (cluster[:, None] > 0) & real
        return torch.cat([~same.any(dim=1, keepdim=True), same], dim=1)

    def marginal_loss(self, scores: C2FScores, gold: Tensor) -> Tensor:
        return marginal_loss(scores.scores, gold).sum()

    def mention_loss(self, scored: C2FScores, document: Pieces) -> Tensor:
        """Return the cross-entropy of classifying kept spans as gold mentions or not."""
        gold = gold_clusters(scored.spans.pairs(), document.gold, scored.kept) > 0
        scores = scored.mention_scores[scored.kept]
        return nn.functional.binary_cross_entropy_with_logits(scores, gold.to(scores), reduction="sum")

    def hinge_loss(self, scores: C2FScores, gold: Tensor) -> Tensor:
        """Return the hinge loss between the best and the best correct entry, weighted by the kind of mistake."""
        best, choice = scores.scores.max(dim=1)
        best_gold, right = scores.scores.masked_fill(~gold, -torch.inf).max(dim=1)
        false_new = self.config.false_new
        weight = torch.full_like(best, (3 - false_new) / 2)
        weight = weight - (1 - false_new) * ((choice == 0) & (right != 0)).to(weight)
        weight = weight.masked_fill(choice == right, 0.0)
        return (weight * (1 + best - best_gold)).sum()


def _with_none(scores: Tensor) -> Tensor:
    """Prepend a column of zeros, the score of having no antecedent."""
    return torch.cat([scores.new_zeros(len(scores), 1), scores], dim=1)


def _tensor(values: tuple[int, ...], like: Tensor) -> Tensor:
    return torch.tensor(values, dtype=torch.long, device=like.device)
