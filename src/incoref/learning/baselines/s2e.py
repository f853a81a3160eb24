"""s2e: coreference from the starts and ends of spans, without span vectors (Kirstain, Ram & Levy 2021).

Every piece has a start vector and an end vector, one pair for mentions and another for coreference. A span's mention
score is the sum of scores for its start, its end and their combination; a pair's score includes the four products of
starts and ends. Spans may cross sentence boundaries and each other. Independent of the encoder; the authors use
Longformer, which reads whole documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.baselines.antecedents import NO_ANTECEDENT, clusters_of, gold_clusters, marginal_loss
from incoref.learning.baselines.config import S2EConfig
from incoref.learning.baselines.pieces import Clusters, Encode, Pieces, Prediction
from incoref.learning.baselines.spans import Spans, best, candidates
from incoref.learning.nets.layers import Dropout


class _Projection(nn.Module):
    """A linear layer, GELU, LayerNorm, dropout."""

    def __init__(self, size: int, out: int, dropout: float, epsilon: float) -> None:
        super().__init__()
        self.dense = nn.Linear(size, out)
        self.layer_norm = nn.LayerNorm(out, eps=epsilon)
        self.dropout = Dropout(dropout)

    def forward(self, values: Tensor) -> Tensor:
        out: Tensor = self.dropout(self.layer_norm(nn.functional.gelu(self.dense(values))))
        return out


@dataclass(frozen=True, slots=True)
class S2EScores:
    """All scores of a document, with n candidates and K kept spans."""

    start_scores: Tensor  # (T,)
    end_scores: Tensor  # (T,)
    candidates: Spans
    mention_scores: Tensor  # (n,)
    kept: Tensor  # (K,) indices of candidates
    spans: Spans
    products: dict[str, Tensor]  # (K, K) each: start with start, end with end, start with end, end with start
    scores: Tensor  # (K, K + 1): minus infinity unless the column's span precedes the row's; last, no antecedent

    @property
    def links(self) -> list[int]:
        """The antecedent of each kept span, or NO_ANTECEDENT."""
        choice = self.scores.argmax(dim=1)
        return torch.where(choice == len(self.spans), NO_ANTECEDENT, choice).tolist()

    @property
    def clusters(self) -> Clusters:
        return clusters_of(self.spans.pairs(), self.links)

    @property
    def comparisons(self) -> int:
        """Number of span pairs compared."""
        return len(self.spans) * (len(self.spans) - 1) // 2


class S2E(nn.Module):
    def __init__(self, config: S2EConfig, vector: int, epsilon: float) -> None:
        """``epsilon`` is the encoder's LayerNorm epsilon."""
        super().__init__()
        self.config = config
        hidden = config.hidden

        def projection() -> _Projection:
            return _Projection(vector, hidden, config.dropout, epsilon)

        self.mention_start, self.mention_end = projection(), projection()
        self.coref_start, self.coref_end = projection(), projection()
        self.start_score, self.end_score = nn.Linear(hidden, 1), nn.Linear(hidden, 1)
        self.mention_bilinear = nn.Linear(hidden, hidden)
        self.start_start, self.end_end = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.start_end, self.end_start = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)

    def forward(self, pieces: Tensor, document: Pieces) -> S2EScores:
        """Score a document, given the vectors of its pieces, (T, vector)."""
        return self.scored(pieces, len(document))

    def scored(self, pieces: Tensor, length: int) -> S2EScores:
        """Score a possibly padded document of ``length`` pieces; spans in the padding may be kept, too."""
        starts, ends = self.mention_start(pieces), self.mention_end(pieces)
        start_scores, end_scores = self.start_score(starts).squeeze(1), self.end_score(ends).squeeze(1)
        spans = candidates(torch.zeros(len(pieces), dtype=torch.long, device=pieces.device), self.config.widest)
        together = self._together(self.mention_bilinear(starts), ends, spans)
        mention_scores = together + start_scores[spans.first] + end_scores[spans.last]
        kept = best(mention_scores, int(self.config.ratio * length)).sort().values
        top, top_scores = spans[kept], mention_scores[kept]
        products = self._products(pieces, top)
        place = torch.arange(len(top), device=pieces.device)
        scores = top_scores[:, None] + top_scores + torch.stack(list(products.values())).sum(dim=0)
        scores = scores.masked_fill(place[:, None] <= place, -torch.inf)
        scores = torch.cat([scores, scores.new_zeros(len(top), 1)], dim=1)
        return S2EScores(start_scores, end_scores, spans, mention_scores, kept, top, products, scores)

    def _together(self, starts: Tensor, ends: Tensor, spans: Spans) -> Tensor:
        """Return the product of each span's start and end, (n,), computed band by band."""
        bands = torch.stack([(starts * ends.roll(-width, 0)).sum(dim=1) for width in range(self.config.widest)])
        return bands[spans.width, spans.first]

    def _products(self, pieces: Tensor, spans: Spans) -> dict[str, Tensor]:
        starts, ends = self.coref_start(pieces)[spans.first], self.coref_end(pieces)[spans.last]
        return {
            "s2s": self.start_start(starts) @ starts.T,
            "e2e": self.end_end(ends) @ ends.T,
            "s2e": self.start_end(starts) @ ends.T,
            "e2s": self.end_start(ends) @ starts.T,
        }

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield the loss of a document."""
        yield {"links": self.loss(self(encode(document.windows), document), document)}

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        scores = self(encode(document.windows), document)
        return Prediction(scores.clusters, len(scores.candidates), scores.comparisons)

    def gold(self, scores: S2EScores, document: Pieces) -> Tensor:
        """Return a mask of the correct entries of the scores, (K, K + 1)."""
        cluster = gold_clusters(scores.spans.pairs(), document.gold, scores.kept)
        same = (cluster[:, None] == cluster) & (cluster[:, None] > 0) & (scores.scores[:, :-1] > -torch.inf)
        return torch.cat([same, ~same.any(dim=1, keepdim=True)], dim=1)

    def loss(self, scores: S2EScores, document: Pieces) -> Tensor:
        """Return the negative marginal log-likelihood, as a mean or sum over spans."""
        loss = marginal_loss(scores.scores, self.gold(scores, document)).sum()
        return loss / max(len(scores.spans), 1) if self.config.normalise else loss
