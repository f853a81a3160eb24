"""Coreference metrics over documents: MUC, B³, CEAFm, CEAFφ4, BLANC, LEA, mention detection, the CoNLL average.

All of them follow from one small table per document: how many mentions each cluster of the key shares with each
cluster of the response. Definitions are those of the CoNLL-2012 reference scorer, version 8.01 (Pradhan et al.,
2014; BLANC for predicted mentions: Luo et al., 2014), and for LEA, which it lacks, those of Moosavi and Strube
(2016). Figures are percentages.

A mention that is listed more than once counts where it comes first, on either side. The reference scorer does so for
mentions of the response that the key has too; elsewhere it counts a repeated mention twice, and so rates a key
with repeated mentions below 100 against itself.

This module knows no file format. Mentions are any hashable values: two are the same if they are equal.
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
    """What a scorer found over all the documents it was given."""

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
"""The names of all metrics, in the order in which they are shown."""


class Scorer:
    """Adds up documents; ``result()`` may be asked for at any time and more than once."""

    def __init__(self, *, drop_singletons: bool = False) -> None:
        """``drop_singletons`` leaves clusters of one mention out of both sides."""
        self.drop_singletons = drop_singletons
        self.documents = 0
        self.repeated_in_key = 0
        self.repeated_in_response = 0
        self._counts = {name: _Counts() for name in _COUNTED}

    def add(self, key: Clusters, response: Clusters) -> None:
        """Count one document."""
        key_clusters, repeated_in_key = _disjoint(key, self.drop_singletons)
        response_clusters, repeated_in_response = _disjoint(response, self.drop_singletons)
        table = _Table.of(key_clusters, response_clusters)
        for name, count in _COUNTED.items():
            self._counts[name] += count(table)
        self.documents += 1
        self.repeated_in_key += repeated_in_key
        self.repeated_in_response += repeated_in_response

    def add_documents(self, key: Document, response: Document) -> None:
        """Count one document whose clusters are its entities: mentions are the same if their token ranges are."""
        if len(key.tokens) != len(response.tokens):
            raise IncorefError(
                f"document {key.id!r} has {len(key.tokens)} tokens in the key and {len(response.tokens)} in the "
                "response: mentions can only be compared over the same tokens"
            )
        self.add(token_clusters(key), token_clusters(response))

    def merge(self, other: Self) -> None:
        """Take over all that another scorer has counted, as when documents are shared out among processes."""
        if self.drop_singletons != other.drop_singletons:
            raise IncorefError("scorers with and without singletons can't be merged")
        for name, counts in other._counts.items():
            self._counts[name] += counts
        self.documents += other.documents
        self.repeated_in_key += other.repeated_in_key
        self.repeated_in_response += other.repeated_in_response

    @property
    def counts(self) -> dict[str, tuple[float, float, float, float]]:
        """Part and whole of recall, part and whole of precision, of each metric but BLANC: they add up."""
        return {
            name: (counts.recall_part, counts.recall_whole, counts.precision_part, counts.precision_whole)
            for name, counts in self._counts.items()
            if not name.startswith("blanc_")
        }

    def result(self) -> Result:
        """The figures over all documents so far: sums first, then ratios, as the reference scorer does."""
        plain = {name: counts.score() for name, counts in self._counts.items() if not name.startswith("blanc_")}
        blanc = _blanc_score(self._counts["blanc_coreferent"], self._counts["blanc_other"])
        return Result(**plain, blanc=blanc, documents=self.documents)


def token_clusters(document: Document) -> list[list[tuple[int, int]]]:
    """The entities of a document as clusters of half-open token ranges."""
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
    """What one document's metrics are computed from."""

    key_sizes: list[int]
    response_sizes: list[int]
    shared: dict[tuple[int, int], int]
    """Number of shared mentions by number of the key's cluster and of the response's, where not 0."""

    @classmethod
    def of(cls, key: list[list[Hashable]], response: list[list[Hashable]]) -> _Table:
        response_cluster_of = {mention: j for j, cluster in enumerate(response) for mention in cluster}
        shared = Counter(
            (i, response_cluster_of[mention])
            for i, cluster in enumerate(key)
            for mention in cluster
            if mention in response_cluster_of
        )
        return cls([len(cluster) for cluster in key], [len(cluster) for cluster in response], shared)


def _disjoint(clusters: Clusters, drop_singletons: bool) -> tuple[list[list[Hashable]], int]:
    """The clusters with every mention once and none empty, and how many mentions were repetitions."""
    smallest = 2 if drop_singletons else 1
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
    """Links that are left of the fewest that hold each cluster together."""
    common = sum(count - 1 for count in table.shared.values())
    return _Counts(
        common, sum(size - 1 for size in table.key_sizes), common, sum(size - 1 for size in table.response_sizes)
    )


def _b3(table: _Table) -> _Counts:
    """For each mention the part of its cluster that it shares with its cluster on the other side."""
    return _Counts(
        sum(count * count / table.key_sizes[i] for (i, _), count in table.shared.items()),
        sum(table.key_sizes),
        sum(count * count / table.response_sizes[j] for (_, j), count in table.shared.items()),
        sum(table.response_sizes),
    )


def _ceafm(table: _Table) -> _Counts:
    """Mentions shared by clusters that are aligned one to one."""
    total = best_total(table.shared)
    return _Counts(total, sum(table.key_sizes), total, sum(table.response_sizes))


def _ceafe(table: _Table) -> _Counts:
    """Likeness of clusters that are aligned one to one."""
    total = best_total(
        {(i, j): 2 * count / (table.key_sizes[i] + table.response_sizes[j]) for (i, j), count in table.shared.items()}
    )
    return _Counts(total, len(table.key_sizes), total, len(table.response_sizes))


def _lea(table: _Table) -> _Counts:
    """The part of a cluster's links that is found, weighted by the cluster's size; a lone mention links to itself."""
    recall = precision = 0.0
    for (i, j), count in table.shared.items():
        key_size, response_size = table.key_sizes[i], table.response_sizes[j]
        if key_size == 1 or response_size == 1:
            both_alone = key_size == response_size
            recall += both_alone
            precision += both_alone
        else:
            recall += key_size * _pairs(count) / _pairs(key_size)
            precision += response_size * _pairs(count) / _pairs(response_size)
    return _Counts(recall, sum(table.key_sizes), precision, sum(table.response_sizes))


def _mentions(table: _Table) -> _Counts:
    """Mentions that both sides have."""
    common = sum(table.shared.values())
    return _Counts(common, sum(table.key_sizes), common, sum(table.response_sizes))


def _blanc_coreferent(table: _Table) -> _Counts:
    """Pairs of mentions in the same cluster."""
    common = sum(map(_pairs, table.shared.values()))
    return _Counts(common, sum(map(_pairs, table.key_sizes)), common, sum(map(_pairs, table.response_sizes)))


def _blanc_other(table: _Table) -> _Counts:
    """Pairs of mentions in different clusters."""
    by_key: Counter[int] = Counter()
    by_response: Counter[int] = Counter()
    for (i, j), count in table.shared.items():
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
    """The mean over both kinds of pairs, or the one kind alone that the key has."""
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
