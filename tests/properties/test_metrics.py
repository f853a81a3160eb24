"""Properties of the metrics over generated clusterings."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.evaluation.metrics import METRICS, Clusters, Result, Scorer

Clustering = list[list[int]]


@st.composite
def clusterings(draw: st.DrawFn, mentions: int = 9) -> Clustering:
    """Disjoint clusters of numbers below ``mentions``."""
    cluster_of = draw(st.lists(st.integers(-1, 5), min_size=mentions, max_size=mentions))
    clusters: dict[int, list[int]] = {}
    for mention, cluster in enumerate(cluster_of):
        if cluster >= 0:
            clusters.setdefault(cluster, []).append(mention)
    return list(clusters.values())


pairs = st.tuples(clusterings(), clusterings())


def scored(*documents: tuple[Clusters, Clusters], drop_singletons: bool = False) -> Result:
    scorer = Scorer(drop_singletons=drop_singletons)
    for key, response in documents:
        scorer.add(key, response)
    return scorer.result()


def assert_same(one: Result, other: Result) -> None:
    assert one.documents == other.documents
    for metric in METRICS:
        assert getattr(one, metric) == pytest.approx(getattr(other, metric)), metric


@given(pairs)
def test_all_figures_are_percentages_with_f1_between_recall_and_precision(
    pair: tuple[Clustering, Clustering],
) -> None:
    result = scored(pair)
    for metric in METRICS:
        recall, precision, f1 = getattr(result, metric)
        assert -1e-9 <= recall <= 100 + 1e-9
        assert -1e-9 <= precision <= 100 + 1e-9
        if metric == "blanc":  # a mean of two F1, which may lie below both means
            assert -1e-9 <= f1 <= max(recall, precision) + 1e-9
        else:
            assert min(recall, precision) - 1e-9 <= f1 <= max(recall, precision) + 1e-9


@given(clusterings())
def test_a_key_against_itself_is_perfect(key: Clustering) -> None:
    result = scored((key, key))
    mentions = sum(map(len, key))
    perfect = {
        "muc": any(len(cluster) > 1 for cluster in key),
        "blanc": mentions > 1,
        **dict.fromkeys(("b3", "ceafm", "ceafe", "lea", "mentions"), mentions > 0),
    }
    for metric in METRICS:
        assert getattr(result, metric) == pytest.approx((100.0 if perfect[metric] else 0.0,) * 3), metric


@given(pairs)
def test_swapping_key_and_response_swaps_recall_and_precision(pair: tuple[Clustering, Clustering]) -> None:
    key, response = pair
    result, swapped = scored((key, response)), scored((response, key))
    for metric in METRICS:
        if metric == "blanc" and not (has_both_kinds_of_pairs(key) and has_both_kinds_of_pairs(response)):
            continue  # it uses the kinds of pairs in the key
        recall, precision, f1 = getattr(result, metric)
        assert getattr(swapped, metric) == pytest.approx((precision, recall, f1)), metric


def has_both_kinds_of_pairs(clusters: Clustering) -> bool:
    return len(clusters) > 1 and any(len(cluster) > 1 for cluster in clusters)


@given(pairs, st.randoms(use_true_random=False), st.permutations(range(9)))
def test_neither_order_nor_names_of_mentions_matter(
    pair: tuple[Clustering, Clustering], random: Random, names: list[int]
) -> None:
    renamed = []
    for clusters in pair:
        shuffled = [random.sample([names[mention] for mention in cluster], len(cluster)) for cluster in clusters]
        random.shuffle(shuffled)
        renamed.append(shuffled)
    assert_same(scored(pair), scored((renamed[0], renamed[1])))


@given(st.lists(pairs, max_size=4), st.integers(0, 4))
def test_documents_add_up_in_any_grouping(documents: list[tuple[Clustering, Clustering]], cut: int) -> None:
    first, second = Scorer(), Scorer()
    for scorer, part in ((first, documents[:cut]), (second, documents[cut:])):
        for key, response in part:
            scorer.add(key, response)
    second.merge(first)
    assert_same(second.result(), scored(*documents))


@given(st.lists(pairs, min_size=1, max_size=3))
def test_documents_score_like_one_joint_document_except_in_blanc(
    documents: list[tuple[Clustering, Clustering]],
) -> None:
    """Mentions of different documents never interact, except in BLANC's pairs across clusters."""
    together: tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]] = ([], [])
    for number, document in enumerate(documents):
        for side, clusters in zip(together, document, strict=True):
            side.extend([(number, mention) for mention in cluster] for cluster in clusters)
    apart, joined = scored(*documents), scored(together)
    for metric in METRICS:
        if metric != "blanc":
            assert getattr(apart, metric) == pytest.approx(getattr(joined, metric)), metric


@given(pairs)
def test_dropping_singletons_is_scoring_without_them(pair: tuple[Clustering, Clustering]) -> None:
    key, response = ([cluster for cluster in clusters if len(cluster) > 1] for clusters in pair)
    assert_same(scored(pair, drop_singletons=True), scored((key, response)))


@given(pairs, st.data())
def test_a_repeated_mention_counts_where_it_comes_first(
    pair: tuple[Clustering, Clustering], data: st.DataObject
) -> None:
    key, response = pair
    listed = [mention for cluster in response for mention in cluster]
    if not listed:
        return
    again = data.draw(st.lists(st.sampled_from(listed), min_size=1, max_size=3))
    scorer = Scorer()
    scorer.add(key, [*response, again])
    assert scorer.repeated_in_response == len(again)
    assert_same(scorer.result(), scored(pair))


@given(st.tuples(clusterings(mentions=6), clusterings(mentions=6)))
def test_metrics_follow_their_definitions(pair: tuple[Clustering, Clustering]) -> None:
    """Compared with direct, slow implementations of the papers' formulas."""
    key, response = ([set(cluster) for cluster in clusters] for clusters in pair)
    result = scored(pair)
    for metric, recall_of in (("muc", muc), ("b3", b3), ("ceafm", ceafm), ("ceafe", ceafe), ("lea", lea)):
        expected = (100 * recall_of(key, response), 100 * recall_of(response, key))
        assert getattr(result, metric)[:2] == pytest.approx(expected), metric


def muc(key: list[set[int]], response: list[set[int]]) -> float:
    """Links kept: a cluster of n mentions has n − 1 and loses one for every additional piece it is split into."""
    kept = 0
    for cluster in key:
        pieces = [cluster & other for other in response if cluster & other]
        pieces += [{mention} for mention in cluster if not any(mention in piece for piece in pieces)]
        kept += len(cluster) - len(pieces)
    return kept / whole if (whole := sum(len(cluster) - 1 for cluster in key)) else 0.0


def b3(key: list[set[int]], response: list[set[int]]) -> float:
    shares = [
        max((len(cluster & other) for other in response if mention in other), default=0) / len(cluster)
        for cluster in key
        for mention in cluster
    ]
    return sum(shares) / len(shares) if shares else 0.0


def best_alignment(key: list[set[int]], response: list[set[int]], similarity: dict[tuple[int, int], float]) -> float:
    few, many = sorted((len(key), len(response)))
    swap = len(key) > len(response)
    return max(
        sum(similarity[(j, i) if swap else (i, j)] for i, j in zip(range(few), chosen, strict=True))
        for chosen in permutations(range(many), few)
    )


def ceafm(key: list[set[int]], response: list[set[int]]) -> float:
    shared = {(i, j): float(len(k & r)) for i, k in enumerate(key) for j, r in enumerate(response)}
    return best_alignment(key, response, shared) / mentions if (mentions := sum(map(len, key))) else 0.0


def ceafe(key: list[set[int]], response: list[set[int]]) -> float:
    similarity = {
        (i, j): 2 * len(k & r) / (len(k) + len(r)) for i, k in enumerate(key) for j, r in enumerate(response)
    }
    return best_alignment(key, response, similarity) / len(key) if key else 0.0


def links(cluster: set[int]) -> set[tuple[int, int]]:
    """A cluster's pairs of mentions; a singleton is linked to itself."""
    if len(cluster) == 1:
        return {(mention, mention) for mention in cluster}
    return {(one, other) for one in cluster for other in cluster if one < other}


def lea(key: list[set[int]], response: list[set[int]]) -> float:
    weighted = [
        len(cluster) * sum(len(links(cluster) & links(other)) for other in response) / len(links(cluster))
        for cluster in key
    ]
    return sum(weighted) / mentions if (mentions := sum(map(len, key))) else 0.0
