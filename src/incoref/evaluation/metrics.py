"""Coreference metrics over documents: MUC, B³, CEAFm, CEAFφ4, BLANC, LEA, mention detection, the CoNLL average.

All metrics are computed from one small table per document: the number of mentions that each key cluster shares with
each response cluster. Definitions follow the CoNLL-2012 reference scorer, version 8.01 (Pradhan et al., 2014; BLANC
for predicted mentions: Luo et al., 2014), and, for LEA, which it lacks, Moosavi and Strube (2016). Figures are
percentages.

A repeated mention counts only at its first occurrence, in key and response. The reference scorer does so for response
mentions that are in the key; elsewhere it counts a repeated mention twice, so a key with repeated mentions scores
below 100 against itself. CODI-CRAC's Universal Anaphora scorer (Yu et al., 2022) counts a repeated mention in every
cluster that lists it and looks it up in the last of them; ``Scorer(keep_repeated=True)`` does the same.

Independent of file formats. Mentions can be any hashable values and are compared by equality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

from incoref.errors import IncorefError
from incoref.evaluation.alignment import best_total
from incoref.types import Document

Clusters = Iterable[Iterable[Hashable]]


class Score(NamedTuple):
    """Recall, precision and their harmonic mean, in percent."""

    recall: float
    precision: float
    f1: float

    def to_json(self) -> dict[str, float]:
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Result:
    """All metrics over a scorer's documents."""

    muc: Score
    b3: Score
    ceafm: Score
    ceafe: Score
    blanc: Score
    lea: Score
    mentions: Score
    documents: int

    @property
    def conll_f1(self) -> float:
        """The mean of the F1 of MUC, B³ and CEAFφ4."""
        return (self.muc.f1 + self.b3.f1 + self.ceafe.f1) / 3

    @property
    def conll_recall(self) -> float:
        """The mean of the recall of MUC, B³ and CEAFφ4."""
        return (self.muc.recall + self.b3.recall + self.ceafe.recall) / 3

    @property
    def conll_precision(self) -> float:
        """The mean of the precision of MUC, B³ and CEAFφ4."""
        return (self.muc.precision + self.b3.precision + self.ceafe.precision) / 3

    def to_json(self) -> dict[str, Any]:
        return {
            **{metric: getattr(self, metric).to_json() for metric in METRICS},
            "conll_f1": self.conll_f1,
            "documents": self.documents,
        }


METRICS = tuple(field.name for field in fields(Result) if field.name != "documents")
"""The names of all metrics, in display order."""


class Scorer:
    """Accumulates counts over documents; ``result()`` can be called at any time, repeatedly."""

    def __init__(self, *, drop_singletons: bool = False, keep_repeated: bool = False) -> None:
        """``drop_singletons`` removes singleton clusters from key and response.

        ``keep_repeated`` counts a mention in every cluster that lists it, as the Universal Anaphora scorer does.
        """
        self.drop_singletons = drop_singletons
        self.keep_repeated = keep_repeated
        self.documents = 0
        self.repeated_in_key = 0
        self.repeated_in_response = 0
        self._counts = {name: _Counts() for name in _COUNTED}

    def add(self, key: Clusters, response: Clusters) -> None:
        """Add one document."""
        key_clusters, repeated_in_key = self._clusters(key)
        response_clusters, repeated_in_response = self._clusters(response)
        table = _Table.of(key_clusters, response_clusters)
        for name, count in _COUNTED.items():
            self._counts[name] += count(table)
        self.documents += 1
        self.repeated_in_key += repeated_in_key
        self.repeated_in_response += repeated_in_response

    def _clusters(self, clusters: Clusters) -> tuple[list[list[Hashable]], int]:
        """Return the clusters to count and the number of repeated mentions."""
        smallest = 2 if self.drop_singletons else 1
        if not self.keep_repeated:
            return _disjoint(clusters, smallest)
        kept = [listed for cluster in clusters if len(listed := list(cluster)) >= smallest]
        return kept, sum(map(len, kept)) - len({mention for cluster in kept for mention in cluster})

    def add_documents(self, key: Document, response: Document) -> None:
        """Add one document with its entities as clusters; mentions are compared by token range."""
        if len(key.tokens) != len(response.tokens):
            raise IncorefError(
                f"document {key.id!r} has {len(key.tokens)} tokens in the key and {len(response.tokens)} in the "
                "response: mentions can only be compared over the same tokens"
            )
        self.add(token_clusters(key), token_clusters(response))

    def merge(self, other: Self) -> None:
        """Add the counts of another scorer, for instance from another process."""
        if (self.drop_singletons, self.keep_repeated) != (other.drop_singletons, other.keep_repeated):
            raise IncorefError("scorers with different options can't be merged")
        for name, counts in other._counts.items():
            self._counts[name] += counts
        self.documents += other.documents
        self.repeated_in_key += other.repeated_in_key
        self.repeated_in_response += other.repeated_in_response

    @property
    def counts(self) -> dict[str, tuple[float, float, float, float]]:
        """Numerator and denominator of recall, then of precision, for each metric except BLANC.

        Counts can be summed over documents.
        """
        return {
            name: (counts.recall_part, counts.recall_whole, counts.precision_part, counts.precision_whole)
            for name, counts in self._counts.items()
            if not name.startswith("blanc_")
        }

    def result(self) -> Result:
        """Return the scores so far, from counts summed over documents, as in the reference scorer."""
        plain = {name: counts.score() for name, counts in self._counts.items() if not name.startswith("blanc_")}
        blanc = _blanc_score(self._counts["blanc_coreferent"], self._counts["blanc_other"])
        return Result(**plain, blanc=blanc, documents=self.documents)


def token_clusters(document: Document) -> list[list[tuple[int, int]]]:
    """Return the entities of a document as clusters of half-open token ranges."""
    return [[mention.tokens for mention in entity.mentions] for entity in document.entities]


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numerators and denominators of recall and precision."""

    recall_part: float = 0
    recall_whole: float = 0
    precision_part: float = 0
    precision_whole: float = 0

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(
            self.recall_part + other.recall_part,
            self.recall_whole + other.recall_whole,
            self.precision_part + other.precision_part,
            self.precision_whole + other.precision_whole,
        )

    def score(self) -> Score:
        recall = self.recall_part / self.recall_whole if self.recall_whole else 0.0
        precision = self.precision_part / self.precision_whole if self.precision_whole else 0.0
        return Score(100 * recall, 100 * precision, 100 * _f1(recall, precision))


class _Table(NamedTuple):
    """The counts behind one document's metrics."""

    key_sizes: list[int]
    response_sizes: list[int]
    shared: dict[tuple[int, int], int]
    """Number of mentions shared by each pair of key and response clusters, without zeros."""
    recalled: dict[tuple[int, int], int]
    """Like ``shared``, but a key mention counts only for the last response cluster that lists it."""
    confirmed: dict[tuple[int, int], int]
    """Like ``shared``, but a response mention counts only for the last key cluster that lists it."""

    @classmethod
    def of(cls, key: list[list[Hashable]], response: list[list[Hashable]]) -> _Table:
        """Count shared mentions; the three counts differ only if mentions are repeated."""
        key_cluster_of = {mention: i for i, cluster in enumerate(key) for mention in cluster}
        response_cluster_of = {mention: j for j, cluster in enumerate(response) for mention in cluster}
        sizes = [len(cluster) for cluster in key], [len(cluster) for cluster in response]
        recalled = Counter(
            (i, response_cluster_of[mention])
            for i, cluster in enumerate(key)
            for mention in cluster
            if mention in response_cluster_of
        )
        if (len(key_cluster_of), len(response_cluster_of)) == (sum(sizes[0]), sum(sizes[1])):
            return cls(*sizes, recalled, recalled, recalled)
        confirmed = Counter(
            (key_cluster_of[mention], j)
            for j, cluster in enumerate(response)
            for mention in cluster
            if mention in key_cluster_of
        )
        listed_in = [set(cluster) for cluster in response]
        shared = {
            (i, j): count
            for i, cluster in enumerate(key)
            for j, other in enumerate(listed_in)
            if (count := sum(mention in other for mention in cluster))
        }
        return cls(*sizes, shared, recalled, confirmed)


def _disjoint(clusters: Clusters, smallest: int) -> tuple[list[list[Hashable]], int]:
    """Return clusters of at least ``smallest`` mentions, without repeats, and the number of repeated mentions."""
    seen: set[Hashable] = set()
    kept = []
    repeated = 0
    for cluster in clusters:
        listed = list(cluster)
        different = list(dict.fromkeys(listed))
        repeated += len(listed) - len(different)
        if len(different) < smallest:
            continue
        new = [mention for mention in different if mention not in seen]
        repeated += len(different) - len(new)
        seen.update(new)
        if len(new) >= smallest:
            kept.append(new)
    return kept, repeated


def _muc(table: _Table) -> _Counts:
    """Count the links of each cluster's spanning tree that the other side preserves."""
    return _Counts(
        sum(count - 1 for count in table.recalled.values()),
        sum(size - 1 for size in table.key_sizes),
        sum(count - 1 for count in table.confirmed.values()),
        sum(size - 1 for size in table.response_sizes),
    )


def _b3(table: _Table) -> _Counts:
    """Sum, over mentions, the share of the mention's cluster that is also in its cluster on the other side."""
    return _Counts(
        sum(count * count / table.key_sizes[i] for (i, _), count in table.recalled.items()),
        sum(table.key_sizes),
        sum(count * count / table.response_sizes[j] for (_, j), count in table.confirmed.items()),
        sum(table.response_sizes),
    )


def _ceafm(table: _Table) -> _Counts:
    """Count mentions shared by clusters that are aligned one-to-one."""
    total = best_total(table.shared)
    return _Counts(total, sum(table.key_sizes), total, sum(table.response_sizes))


def _ceafe(table: _Table) -> _Counts:
    """Sum the similarities of clusters that are aligned one-to-one."""
    total = best_total(
        {(i, j): 2 * count / (table.key_sizes[i] + table.response_sizes[j]) for (i, j), count in table.shared.items()}
    )
    return _Counts(total, len(table.key_sizes), total, len(table.response_sizes))


def _lea(table: _Table) -> _Counts:
    """Sum the share of each cluster's links found, weighted by cluster size; a singleton has a link to itself."""
    keys, responses = table.key_sizes, table.response_sizes
    recall = sum(_links(count, keys[i], responses[j]) for (i, j), count in table.recalled.items())
    precision = sum(_links(count, responses[j], keys[i]) for (i, j), count in table.confirmed.items())
    return _Counts(recall, sum(keys), precision, sum(responses))


def _links(count: int, size: int, other_size: int) -> float:
    """Return the share of a cluster's links among ``count`` of its mentions, weighted by its size."""
    if size == 1:
        return float(other_size == 1)
    return size * _pairs(count) / _pairs(size)


def _mentions(table: _Table) -> _Counts:
    """Count the mentions on both sides."""
    common = sum(table.shared.values())
    return _Counts(common, sum(table.key_sizes), common, sum(table.response_sizes))


def _blanc_coreferent(table: _Table) -> _Counts:
    """Count pairs of mentions in the same cluster."""
    common = sum(map(_pairs, table.recalled.values()))
    return _Counts(common, sum(map(_pairs, table.key_sizes)), common, sum(map(_pairs, table.response_sizes)))


def _blanc_other(table: _Table) -> _Counts:
    """Count pairs of mentions in different clusters."""
    by_key: Counter[int] = Counter()
    by_response: Counter[int] = Counter()
    for (i, j), count in table.recalled.items():
        by_key[i] += count
        by_response[j] += count
    coreferent = _blanc_coreferent(table)
    common = (
        _pairs(sum(by_key.values()))
        - sum(map(_pairs, by_key.values()))
        - sum(map(_pairs, by_response.values()))
        + coreferent.recall_part
    )
    return _Counts(
        common,
        _pairs(sum(table.key_sizes)) - coreferent.recall_whole,
        common,
        _pairs(sum(table.response_sizes)) - coreferent.precision_whole,
    )


def _blanc_score(coreferent: _Counts, other: _Counts) -> Score:
    """Return the mean score over both kinds of pairs, or the score of the only kind in the key."""
    kinds = [counts.score() for counts in (coreferent, other) if counts.recall_whole]
    if not kinds:
        return Score(0.0, 0.0, 0.0)
    return Score(*(sum(figures) / len(kinds) for figures in zip(*kinds, strict=True)))


_COUNTED = {
    "muc": _muc,
    "b3": _b3,
    "ceafm": _ceafm,
    "ceafe": _ceafe,
    "lea": _lea,
    "mentions": _mentions,
    "blanc_coreferent": _blanc_coreferent,
    "blanc_other": _blanc_other,
}


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _f1(recall: float, precision: float) -> float:
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0
