"""The span scorer of c2f, ICoref and longdoc: candidates, mention scores, span vectors, pruning.

A span's vector is [first piece; last piece; width; head], where the head is the attention-weighted mean of its
pieces. Its mention score is the sum of a feed-forward score of the vector and one of the width.

All candidates are scored without building their vectors: the first layer is applied to each piece only once, and the
head of each span is derived from that of the span one piece shorter. ``vectors`` builds full vectors for kept spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from incoref.learning.nets.layers import Dropout


class FeedForward(nn.Module):
    """One hidden layer with ReLU and dropout."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, hidden)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(hidden, 1)

    def forward(self, values: Tensor) -> Tensor:
        """Map (…, size) to (…)."""
        return self.finish(self.hidden(values))

    def finish(self, hidden: Tensor) -> Tensor:
        """Apply everything after the hidden layer's linear map, (…, hidden) to (…)."""
        scores: Tensor = self.output(self.dropout(torch.relu(hidden)))
        return scores.squeeze(-1)


class PairScore(FeedForward):
    """Scores pairs of vectors as [one; other; one ⊙ other; features]; applies the first layer part by part."""

    def __init__(self, size: int, features: int, hidden: int, dropout: float) -> None:
        super().__init__(3 * size + features, hidden, dropout)
        self._sizes = [size, size, size, features]

    def of_pairs(self, vectors: Tensor, others: Tensor, features: Tensor) -> Tensor:
        """Score each of the vectors (n, size) with those at its indices ``others`` (n, k), to (n, k)."""
        by_one, by_other, by_both, by_features = self._weights()
        hidden = (
            (vectors @ by_one.T + self.hidden.bias)[:, None]
            + (vectors @ by_other.T)[others]
            + (vectors[:, None] * vectors[others]) @ by_both.T
            + features @ by_features.T
        )
        return self.finish(hidden)

    def of_one(self, one: Tensor, others: Tensor, features: Tensor, *, last: bool = False) -> Tensor:
        """Score one vector (size,) with each of ``others`` (n, size), to (n,); with ``last``, it comes second."""
        by_one, by_other, by_both, by_features = self._weights()
        if last:
            by_one, by_other = by_other, by_one
        if 2 * len(others) > len(by_both):  # whichever needs less memory
            compared = others @ (by_other + by_both * one).T
        else:
            compared = others @ by_other.T + (others * one) @ by_both.T
        return self.finish(compared + features @ by_features.T + (by_one @ one + self.hidden.bias))

    def _weights(self) -> tuple[Tensor, ...]:
        return torch.split(self.hidden.weight, self._sizes, dim=1)


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of a document, as their first and last pieces, (n,) each."""

    first: Tensor
    last: Tensor

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: Tensor) -> Spans:
        return Spans(self.first[chosen], self.last[chosen])

    @property
    def width(self) -> Tensor:
        """Number of pieces minus one."""
        return self.last - self.first

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.first.tolist(), self.last.tolist(), strict=True))


def spans_of(pairs: Sequence[tuple[int, int]], like: Tensor) -> Spans:
    """Create spans from pairs of first and last piece, on the device of ``like``."""
    table = torch.tensor(pairs, dtype=torch.long, device=like.device).view(-1, 2)
    return Spans(table[:, 0], table[:, 1])


def candidates(sentence: Tensor, widest: int) -> Spans:
    """Return all spans of up to ``widest`` pieces within one sentence, ordered by first, then last piece."""
    first = torch.arange(len(sentence), device=sentence.device)[:, None]
    last = first + torch.arange(widest, device=sentence.device)  # (T, widest)
    inside = last < len(sentence)
    last = last.clamp(max=len(sentence) - 1)
    valid = inside & (sentence[first] == sentence[last])
    return Spans(first.expand_as(last)[valid], last[valid])


class SpanScorer(nn.Module):
    def __init__(self, vector: int, feature: int, widths: int, hidden: int, dropout: float) -> None:
        """``widths`` is the number of width classes; wider spans share the last one."""
        super().__init__()
        self.size = 3 * vector + feature
        self.attention = nn.Linear(vector, 1)
        self.width = nn.Embedding(widths, feature)
        self.width_prior = nn.Embedding(widths, feature)
        self.score = FeedForward(self.size, hidden, dropout)
        self.width_score = FeedForward(feature, hidden, dropout)
        self.dropout = Dropout(dropout)

    def _width_class(self, spans: Spans) -> Tensor:
        return spans.width.clamp(max=self.width.num_embeddings - 1)

    def vectors(self, pieces: Tensor, spans: Spans) -> Tensor:
        """Return [first; last; width; head] of some spans, (n, size); ``pieces`` is (T, vector)."""
        widest = int(spans.width.max()) + 1 if len(spans) else 1
        inside = spans.first[:, None] + torch.arange(widest, device=pieces.device)  # (n, widest)
        outside = inside > spans.last[:, None]
        inside = inside.clamp(max=len(pieces) - 1)
        logits = self.attention(pieces).squeeze(1)[inside].masked_fill(outside, -torch.inf)
        head = torch.einsum("nw,nwv->nv", torch.softmax(logits, dim=1), pieces[inside])
        width = self.dropout(self.width(self._width_class(spans)))
        return torch.cat([pieces[spans.first], pieces[spans.last], width, head], dim=1)

    def scores(self, pieces: Tensor, spans: Spans) -> Tensor:
        """Return mention scores, (n,)."""
        size, layer = pieces.shape[1], self.score.hidden
        by_first, by_last, by_width, by_head = layer.weight.split([size, size, self.width.embedding_dim, size], 1)
        # Projected heads by width and first piece, (widths, T, hidden); entries for spans that don't fit are unused.
        heads = self._heads(pieces, pieces @ by_head.T, int(spans.width.max()) + 1 if len(spans) else 1)
        width = self._width_class(spans)
        hidden = (
            (pieces @ by_first.T)[spans.first]
            + (pieces @ by_last.T)[spans.last]
            + (self.dropout(self.width.weight) @ by_width.T)[width]
            + heads[spans.width, spans.first]
            + layer.bias
        )
        return self.score.finish(hidden) + self.width_scores()[width]

    def width_scores(self) -> Tensor:
        """Return each width class's contribution to the mention score, (widths,)."""
        scores: Tensor = self.width_score(self.dropout(self.width_prior.weight))
        return scores

    def _heads(self, pieces: Tensor, values: Tensor, widest: int) -> Tensor:
        """Return attention-weighted means of ``values`` (T, v) by width and first piece of a span, (widest, T, v).

        With the new piece's logit l and the log L of the summed weights so far, the longer span's mean is the
        shorter one's, moved towards the new piece by sigmoid(l - L).
        """
        logits = self.attention(pieces)  # (T, 1)
        total, mean = logits, values
        means = [mean]
        for width in range(1, widest):
            following, logit = values.roll(-width, 0), logits.roll(-width, 0)
            share = torch.sigmoid(logit - total)
            mean = mean + share * (following - mean)
            total = torch.logaddexp(total, logit)
            means.append(mean)
        return torch.stack(means)


def best(scores: Tensor, count: int) -> Tensor:
    """Return the indices of the ``count`` best-scored spans, best first."""
    return scores.argsort(descending=True)[:count]


def best_without_crossing(spans: Spans, scores: Tensor, count: int) -> Tensor:
    """Return indices of up to ``count`` best-scored spans, no two of them crossing, in text order."""
    firsts, lasts = spans.first.tolist(), spans.last.tolist()
    latest_from: dict[int, int] = {}  # of the kept spans: largest last piece by first piece
    earliest_to: dict[int, int] = {}  # of the kept spans: smallest first piece by last piece
    kept: list[int] = []
    for index in scores.argsort(descending=True).tolist():
        if len(kept) == count:
            break
        first, last = firsts[index], lasts[index]
        crosses = any(
            (piece > first and latest_from.get(piece, -1) > last)
            or (piece < last and earliest_to.get(piece, first) < first)
            for piece in range(first, last + 1)
        )
        if not crosses:
            kept.append(index)
            latest_from[first] = max(last, latest_from.get(first, -1))
            earliest_to[last] = min(first, earliest_to.get(last, first))
    kept.sort(key=lambda index: (firsts[index], lasts[index]))
    return torch.tensor(kept, dtype=torch.long, device=scores.device)


_BUCKET_STARTS = (1, 2, 3, 4, 5, 8, 16, 32, 64)
BUCKETS = len(_BUCKET_STARTS) + 1


def bucket(distance: Tensor) -> Tensor:
    """Return distance classes: 0 to 4 separately, then 5–7, 8–15, 16–31, 32–63, 64 or more; negatives count as 0."""
    starts = torch.tensor(_BUCKET_STARTS, device=distance.device)
    return torch.bucketize(distance, starts, right=True)
