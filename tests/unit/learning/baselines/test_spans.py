"""The span scorer's fast way against the plain one; candidates, pruning, buckets."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.baselines.spans import (
    FeedForward,
    Spans,
    SpanScorer,
    best_without_crossing,
    bucket,
    candidates,
    spans_of,
)

SENTENCES = st.lists(st.integers(1, 6), min_size=1, max_size=5).map(
    lambda lengths: torch.tensor([n for n, length in enumerate(lengths) for _ in range(length)])
)


@given(SENTENCES, st.integers(1, 7), st.integers(0, 2**31))
def test_candidates_scored_from_parts_have_the_scores_of_their_vectors(
    sentence: torch.Tensor, widest: int, seed: int
) -> None:
    torch.manual_seed(seed)
    scorer = SpanScorer(vector=5, feature=3, widths=4, hidden=6, dropout=0.0).double()
    pieces = 4 * torch.randn(len(sentence), 5, dtype=torch.float64)
    spans = candidates(sentence, widest)
    width = spans.width.clamp(max=3)
    plain = scorer.score(scorer.vectors(pieces, spans)) + scorer.width_score(scorer.width_prior(width))
    assert torch.allclose(scorer.scores(pieces, spans), plain, atol=1e-10)


def test_a_span_vector_is_its_ends_its_width_and_its_head() -> None:
    torch.manual_seed(1)
    scorer = SpanScorer(vector=4, feature=2, widths=3, hidden=5, dropout=0.0)
    pieces = torch.randn(6, 4)
    [vector] = scorer.vectors(pieces, spans_of([(1, 3)], pieces))
    weights = torch.softmax(scorer.attention(pieces[1:4]).squeeze(1), dim=0)
    head = sum(weight * piece for weight, piece in zip(weights, pieces[1:4], strict=True))
    expected = torch.cat([pieces[1], pieces[3], scorer.width.weight[2], head])
    assert torch.allclose(vector, expected, atol=1e-6)


@given(SENTENCES, st.integers(1, 7))
def test_candidates_are_all_spans_inside_sentences_in_order(sentence: torch.Tensor, widest: int) -> None:
    numbers = sentence.tolist()
    expected = [
        (first, last)
        for first in range(len(numbers))
        for last in range(first, min(first + widest, len(numbers)))
        if numbers[first] == numbers[last]
    ]
    assert candidates(sentence, widest).pairs() == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=30, unique=True), st.data())
def test_kept_spans_do_not_cross_and_none_that_could_be_kept_is_missing(
    starts: list[tuple[int, int]], data: st.DataObject
) -> None:
    spans = [(first, first + width) for first, width in starts]
    scores = data.draw(st.permutations(range(len(spans))))
    count = data.draw(st.integers(1, len(spans)))
    kept = best_without_crossing(spans_of(spans, torch.zeros(1)), torch.tensor(scores, dtype=torch.float32), count)

    def cross(one: tuple[int, int], other: tuple[int, int]) -> bool:
        return one[0] < other[0] <= one[1] < other[1] or other[0] < one[0] <= other[1] < one[1]

    plain: list[int] = []
    for index in sorted(range(len(spans)), key=lambda i: -scores[i]):
        if len(plain) < count and not any(cross(spans[index], spans[other]) for other in plain):
            plain.append(index)
    assert kept.tolist() == sorted(plain, key=lambda i: spans[i])


def test_buckets() -> None:
    distances = torch.tensor([-3, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 1000])
    assert bucket(distances).tolist() == [0, 0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]


def test_a_feed_forward_network_has_one_score_a_row() -> None:
    network = FeedForward(3, 5, 0.0)
    assert network(torch.zeros(2, 4, 3)).shape == (2, 4)
    assert len(Spans(torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))) == 0
