"""``errors``: which errors a system makes, by kind of mention, distance and genre.

A mention is *missing* if it is annotated but not found, and *extra* if it is found but not annotated; spans must
match exactly. Among the mentions on both sides, an annotated entity is *divided* if its mentions lie in several
predicted entities, and a predicted entity is *conflated* if its mentions come from several annotated ones. A repeated
mention (not the first of its entity) is *right* if the closest preceding mention in its predicted entity belongs to
the same annotated entity, *wrong* if it belongs to another one or is not annotated, and *taken for new* if there is
no preceding mention.

The score of the same model with given mentions shows how much the errors in mention detection cost.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from incoref.analysis.bootstrap import CONLL, counts_of, f1_of
from incoref.analysis.clusterings import sentence_of_token, without_singletons
from incoref.analysis.findings import Findings, Plot, Table, row, series
from incoref.analysis.given_mentions import told_mentions
from incoref.analysis.result_cache import ResultCache, digest, text_digest
from incoref.analysis.scores import settings_of
from incoref.analysis.side_by_side import Shown, side_by_side
from incoref.analysis.systems import Clusters, System, answers
from incoref.evaluation.metrics import token_clusters
from incoref.text.english import PRONOUNS, head_of
from incoref.types import Document

KINDS = ("pronoun", "name", "nominal")
OUTCOMES = ("right", "wrong", "taken for new", "missing")
DISTANCES = (("same sentence", 0), ("1 sentence", 1), ("2", 2), ("3–5", 5), ("6–10", 10), ("11–20", 20))
FARTHEST = "more than 20"
NO_GENRE = "none"
Span = tuple[int, int]


def kind_of(document: Document, span: Span) -> str:
    """Classify a mention by its word, else by its head's part-of-speech tag if any, else by capitalisation."""
    tokens = document.tokens[span[0] : span[1]]
    if len(tokens) == 1 and tokens[0].text.lower() in PRONOUNS:
        return KINDS[0]
    head = tokens[head_of([token.text.lower() for token in tokens])]
    tags = dict(head.attributes)
    if "upos" in tags:
        is_name = tags["upos"] == "PROPN"
    elif "xpos" in tags:
        is_name = tags["xpos"].startswith("NNP")
    else:
        is_name = head.text[:1].isupper()
    return KINDS[1] if is_name else KINDS[2]


def distance_name(sentences: int) -> str:
    return next((name for name, most in DISTANCES if sentences <= most), FARTHEST)


@dataclass(slots=True)
class Errors:
    """Counts summed over documents: mentions by kind, repeated mentions by kind, distance and outcome."""

    gold: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    extra: Counter[str] = field(default_factory=Counter)
    repeated: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    entities: int = 0
    divided: int = 0
    found_entities: int = 0
    conflated: int = 0

    def add(self, other: Errors) -> None:
        for name in ("gold", "missing", "found", "extra", "repeated"):
            getattr(self, name).update(getattr(other, name))
        for name in ("entities", "divided", "found_entities", "conflated"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def errors_of(document: Document, gold: Clusters, predicted: Clusters) -> Errors:
    """Count the errors in one document."""
    errors = Errors(entities=len(gold), found_entities=len(predicted))
    gold_of = {span: number for number, cluster in enumerate(gold) for span in cluster}
    found_of = {span: number for number, cluster in enumerate(predicted) for span in cluster}
    for spans, others, counted, lacking in (
        (gold_of, found_of, errors.gold, errors.missing),
        (found_of, gold_of, errors.found, errors.extra),
    ):
        for span in spans:
            kind = kind_of(document, span)
            counted[kind] += 1
            lacking[kind] += span not in others
    errors.divided = _in_several(gold, found_of)
    errors.conflated = _in_several(predicted, gold_of)
    sentence_of = sentence_of_token(document)
    nearest = {span: before for cluster in predicted for before, span in _neighbours(cluster)}
    for cluster in gold:
        for before, span in _neighbours(cluster):
            distance = distance_name(sentence_of[span[0]] - sentence_of[before[0]])
            if span not in found_of:
                outcome = "missing"
            elif span not in nearest:
                outcome = "taken for new"
            else:
                outcome = "right" if gold_of.get(nearest[span]) == gold_of[span] else "wrong"
            errors.repeated[kind_of(document, span), distance, outcome] += 1
    return errors


def _neighbours(cluster: Iterable[Span]) -> Iterable[tuple[Span, Span]]:
    """Return pairs of consecutive mentions of a cluster, in text order."""
    ordered = sorted(cluster)
    return pairwise(ordered)


def _in_several(clusters: Clusters, other_of: dict[Span, int]) -> int:
    return sum(len({other_of[span] for span in cluster if span in other_of}) > 1 for cluster in clusters)


def errors(
    documents: Sequence[Document],
    system: System,
    cache: ResultCache,
    *,
    drop_singletons: bool = False,
    worst: int = 20,
) -> Findings:
    predictions = answers(system, documents, cache)
    f1 = f1_of(counts_of(documents, predictions, drop_singletons))[CONLL]
    total = Errors()
    by_genre: dict[str, Errors] = defaultdict(Errors)
    shown = []
    for document, predicted, score in zip(documents, predictions, f1, strict=True):
        gold = token_clusters(document)
        if drop_singletons:
            gold, predicted = without_singletons(gold), without_singletons(predicted)
        here = errors_of(document, gold, predicted)
        total.add(here)
        by_genre[document.genre or NO_GENRE].add(here)
        shown.append(Shown(document, gold, predicted, float(score)))
    shown.sort(key=lambda each: (each.f1, each.document.id))
    genre_f1 = {
        genre: float(f1_of(counts_of(*_of_genre(documents, predictions, genre), drop_singletons).sum(axis=0))[CONLL])
        for genre in by_genre
    }
    score = _scores_table(documents, system, predictions, cache, drop_singletons)
    tables = (
        score,
        _mentions_table(total),
        _entities_table(total),
        *_links_tables(total),
        _genre_table(by_genre, genre_f1),
    )
    page = side_by_side(shown[:worst], f"The {min(worst, len(shown))} worst documents: {system.name}")
    return Findings(
        "errors",
        f"Errors of {system.name}",
        tables,
        (_outcome_plot("by kind", total, 0, KINDS), _outcome_plot("by distance", total, 1, _distances())),
        settings_of(documents, (system,), drop_singletons),
        {"conll_f1": {each.document.id: round(each.f1, 2) for each in shown}},
        {"worst.html": page},
    )


def _scores_table(
    documents: Sequence[Document],
    system: System,
    predictions: Sequence[Clusters],
    cache: ResultCache,
    drop_singletons: bool,
) -> Table:
    """Scores with the system's own mentions and with the annotated ones."""
    told = told_mentions(system)
    given = [("its own", predictions)]
    if told is not None:
        linked = cache.each(
            f"reading with {told.name}",
            documents,
            lambda document: (told.digest, document.id, text_digest(document), digest(token_clusters(document))),
            told.clusters,
        )
        given.append(("the annotated ones", [[[(a, b) for a, b in cluster] for cluster in each] for each in linked]))
    rows = []
    for name, clusters in given:
        scores = f1_of(counts_of(documents, clusters, drop_singletons).sum(axis=0))
        rows.append(row(name, float(scores[CONLL]), float(scores["mentions"])))
    return Table("Scores", ("mentions", "CoNLL F1", "mention F1"), tuple(rows))


def _of_genre(
    documents: Sequence[Document], predictions: Sequence[Clusters], genre: str
) -> tuple[list[Document], list[Clusters]]:
    chosen = [number for number, document in enumerate(documents) if (document.genre or NO_GENRE) == genre]
    return [documents[number] for number in chosen], [predictions[number] for number in chosen]


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def _mentions_table(errors: Errors) -> Table:
    rows = []
    for kind in (*KINDS, "all"):
        gold, missing, predicted, extra = (
            counted.total() if kind == "all" else counted[kind]
            for counted in (errors.gold, errors.missing, errors.found, errors.extra)
        )
        rows.append(row(kind, gold, missing, _percent(missing, gold), predicted, extra, _percent(extra, predicted)))
    columns = ("mentions", "annotated", "missing", "%", "found", "extra", "% ")
    return Table("Mentions", columns, tuple(rows))


def _entities_table(errors: Errors) -> Table:
    return Table(
        "Entities",
        ("entities", "number", "%"),
        (
            row("annotated", errors.entities, None),
            row("divided", errors.divided, _percent(errors.divided, errors.entities)),
            row("found", errors.found_entities, None),
            row("conflated", errors.conflated, _percent(errors.conflated, errors.found_entities)),
        ),
    )


def _distances() -> tuple[str, ...]:
    return (*(name for name, _ in DISTANCES), FARTHEST)


def _outcomes(errors: Errors, place: int, value: str) -> list[int]:
    """Count each outcome among the repeated mentions whose kind (place 0) or distance (place 1) is ``value``."""
    chosen = [(key[2], count) for key, count in errors.repeated.items() if key[place] == value]
    return [sum(count for outcome, count in chosen if outcome == wanted) for wanted in OUTCOMES]


def _links_tables(errors: Errors) -> list[Table]:
    tables = []
    for title, place, values in (("kind", 0, KINDS), ("distance to the previous mention", 1, _distances())):
        rows = []
        for value in values:
            counts = _outcomes(errors, place, value)
            rows.append(row(value, sum(counts), *(_percent(count, sum(counts)) for count in counts)))
        columns = (title, "repeated mentions", *(f"% {outcome}" for outcome in OUTCOMES))
        tables.append(Table(f"Links by {title}", columns, tuple(rows)))
    return tables


def _genre_table(by_genre: dict[str, Errors], f1: dict[str, float]) -> Table:
    rows = [
        row(
            genre,
            errors.gold.total(),
            f1[genre],
            _percent(errors.missing.total(), errors.gold.total()),
            _percent(errors.extra.total(), errors.found.total()),
            _percent(errors.divided, errors.entities),
            _percent(errors.conflated, errors.found_entities),
        )
        for genre, errors in sorted(by_genre.items())
    ]
    columns = ("genre", "mentions", "CoNLL F1", "% missing", "% extra", "% divided", "% conflated")
    return Table("Genres", columns, tuple(rows))


def _outcome_plot(title: str, errors: Errors, place: int, values: Sequence[str]) -> Plot:
    counts = [_outcomes(errors, place, value) for value in values]
    bars = [
        series(outcome, range(len(values)), [_percent(count[number], sum(count)) or 0.0 for count in counts])
        for number, outcome in enumerate(OUTCOMES)
    ]
    return Plot(f"Repeated mentions {title}", "", "%", tuple(bars), "bars", tuple(values))
