"""The span scorer that c2f, ICoref and longdoc share: candidates, mention scores, span vectors, pruning.

A span's vector is [first piece; last piece; width; head], its head the mean of its pieces weighted by attention. Its
mention score is a feed-forward network's of the vector plus one of its width's.

All candidates are scored without building their vectors: the first layer is applied to the pieces once, and the head
of a span that is one piece longer follows from the shorter one's. ``vectors`` is the plain way, for kept spans.
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
        """(…, size) to (…)."""
        return self.finish(self.hidden(values))

    def finish(self, hidden: Tensor) -> Tensor:
        """Everything after the hidden layer's product, (…, hidden) to (…)."""
        scores: Tensor = self.output(self.dropout(torch.relu(hidden)))
        return scores.squeeze(-1)


class PairScore(FeedForward):
    """The score of two vectors as [one; other; one ⊙ other; features], whose first layer is applied part by part."""

    def __init__(self, size: int, features: int, hidden: int, dropout: float) -> None:
        super().__init__(3 * size + features, hidden, dropout)
        self._sizes = [size, size, size, features]

    def of_pairs(self, vectors: Tensor, others: Tensor, features: Tensor) -> Tensor:
        """Each of the vectors (n, size) with its own ``others`` (n, k), which are numbers of vectors, to (n, k)."""
        by_one, by_other, by_both, by_features = self._weights()
        hidden = (
            (vectors @ by_one.T + self.hidden.bias)[:, None]
            + (vectors @ by_other.T)[others]
            + (vectors[:, None] * vectors[others]) @ by_both.T
            + features @ by_features.T
        )
        return self.finish(hidden)

    def of_one(self, one: Tensor, others: Tensor, features: Tensor, *, last: bool = False) -> Tensor:
        """One vector (size,) with each of the others (n, size), to (n,); it comes first, or ``last``."""
        by_one, by_other, by_both, by_features = self._weights()
        if last:
            by_one, by_other = by_other, by_one
        if 2 * len(others) > len(by_both):  # whichever needs less room
            compared = others @ (by_other + by_both * one).T
        else:
            compared = others @ by_other.T + (others * one) @ by_both.T
        return self.finish(compared + features @ by_features.T + (by_one @ one + self.hidden.bias))

    def _weights(self) -> tuple[Tensor, ...]:
        return torch.split(self.hidden.weight, self._sizes, dim=1)


@dataclass(frozen=True, slots=True)
class Spans:
    """Some spans of a document, by their first and last piece, (n,) each."""

    first: Tensor
    last: Tensor

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: Tensor) -> Spans:
        return Spans(self.first[chosen], self.last[chosen])

    @property
    def width(self) -> Tensor:
        """Pieces less one."""
        return self.last - self.first

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.first.tolist(), self.last.tolist(), strict=True))


def spans_of(pairs: Sequence[tuple[int, int]], like: Tensor) -> Spans:
    """Spans from pairs of first and last piece, on the device of another tensor."""
    table = torch.tensor(pairs, dtype=torch.long, device=like.device).view(-1, 2)
    return Spans(table[:, 0], table[:, 1])


def candidates(sentence: Tensor, widest: int) -> Spans:
    """All spans of up to ``widest`` pieces whose first and last are in one sentence, by first, then last piece."""
    first = torch.arange(len(sentence), device=sentence.device)[:, None]
    last = first + torch.arange(widest, device=sentence.device)  # (T, widest)
    inside = last < len(sentence)
    last = last.clamp(max=len(sentence) - 1)
    valid = inside & (sentence[first] == sentence[last])
    return Spans(first.expand_as(last)[valid], last[valid])


class SpanScorer(nn.Module):
    def __init__(self, vector: int, feature: int, widths: int, hidden: int, dropout: float) -> None:
        """``widths`` rows of the width tables: wider spans share the last."""
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
        """[first; last; width; head] of some spans, (n, size); ``pieces`` is (T, vector)."""
        widest = int(spans.width.max()) + 1 if len(spans) else 1
        inside = spans.first[:, None] + torch.arange(widest, device=pieces.device)  # (n, widest)
        outside = inside > spans.last[:, None]
        inside = inside.clamp(max=len(pieces) - 1)
        logits = self.attention(pieces).squeeze(1)[inside].masked_fill(outside, -torch.inf)
        head = torch.einsum("nw,nwv->nv", torch.softmax(logits, dim=1), pieces[inside])
        width = self.dropout(self.width(self._width_class(spans)))
        return torch.cat([pieces[spans.first], pieces[spans.last], width, head], dim=1)

    def scores(self, pieces: Tensor, spans: Spans) -> Tensor:
        """Mention scores, (n,)."""
        size, layer = pieces.shape[1], self.score.hidden
        by_first, by_last, by_width, by_head = layer.weight.split([size, size, self.width.embedding_dim, size], 1)
        # Projected heads by width and first piece, (widths, T, hidden); where a span doesn't fit, they are unused.
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
        """What each width adds to the mention score, (widths,)."""
        scores: Tensor = self.width_score(self.dropout(self.width_prior.weight))
        return scores

    def _heads(self, pieces: Tensor, values: Tensor, widest: int) -> Tensor:
        """Attention-weighted means of ``values`` (T, v) over the spans from every piece on, (widest, T, v).

        With l the new piece's logit and L the log of the summed weights so far, the longer span's mean is the
        shorter one's moved towards the new piece by sigmoid(l - L).
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
    """The indices of the best-scored spans, best first."""
    return scores.argsort(descending=True)[:count]


def best_without_crossing(spans: Spans, scores: Tensor, count: int) -> Tensor:
    """Indices of the best-scored spans no two of which overlap in part, at most ``count``, in order of the spans."""
    firsts, lasts = spans.first.tolist(), spans.last.tolist()
    latest_from: dict[int, int] = {}  # of the spans kept, by their first piece: the last piece that is farthest right
    earliest_to: dict[int, int] = {}  # and by their last piece: the first piece that is farthest left
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
    """Classes of distances: 0 to 4 are their own, then 5–7, 8–15, 16–31, 32–63, 64 and more; below 0 is 0."""
    starts = torch.tensor(_BUCKET_STARTS, device=distance.device)
    return torch.bucketize(distance, starts, right=True)
