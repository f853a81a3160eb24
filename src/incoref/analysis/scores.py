"""``scores`` and ``compare``: scores of systems on the same documents.

``scores`` shows any number of systems in the columns of the paper's main table. ``compare`` tests the difference
between two systems with a paired bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from incoref.analysis import paper
from incoref.analysis.bootstrap import CONLL, METRICS, Difference, counts_of, differences, f1_of
from incoref.analysis.findings import Findings, Plot, Row, Table, row, series
from incoref.analysis.result_cache import ResultCache
from incoref.analysis.systems import Clusters, System, answers
from incoref.errors import IncorefError
from incoref.evaluation.metrics import Result, Scorer, token_clusters
from incoref.types import Document

TITLES = {CONLL: "CoNLL", "muc": "MUC", "b3": "B³", "ceafe": "CEAFφ4", "lea": "LEA", "mentions": "mentions"}
_FEW = 20
COLUMNS = tuple(f"{metric} {part}" for metric in ("MUC", "B³", "CEAFφ4") for part in ("R", "P", "F1"))


def score(documents: Sequence[Document], predictions: Sequence[Clusters], drop_singletons: bool) -> Result:
    """Score all documents together."""
    scorer = Scorer(drop_singletons=drop_singletons)
    for document, clusters in zip(documents, predictions, strict=True):
        scorer.add(token_clusters(document), clusters)
    return scorer.result()


def settings_of(documents: Sequence[Document], systems: Sequence[System], drop_singletons: bool) -> dict[str, Any]:
    """Return the settings that every analysis of systems records."""
    return {
        "documents": len(documents),
        "sentences": sum(len(document.sentences) for document in documents),
        "tokens": sum(len(document.tokens) for document in documents),
        "systems": {system.name: system.digest for system in systems},
        "drop_singletons": drop_singletons,
    }


def scores(
    documents: Sequence[Document],
    systems: Sequence[System],
    cache: ResultCache,
    *,
    drop_singletons: bool = False,
    beside_paper: bool = False,
) -> Findings:
    results = {
        system.name: score(documents, answers(system, documents, cache), drop_singletons) for system in systems
    }
    rows = [_paper_row(entry) for entry in paper.figures()["ontonotes_test"]["rows"]] if beside_paper else []
    rows += [row(name, *_figures(result), result.mentions.f1) for name, result in results.items()]
    note = "Recall, precision and F1 in percent; CoNLL is the mean of the three F1."
    if beside_paper:
        note += " The paper's rows are for OntoNotes test, a different corpus, and can't be ranked with the others."
    table = Table("Coreference", ("system", *COLUMNS, "CoNLL F1", "mention F1"), tuple(rows), note)
    bars = [
        series(name, range(4), (result.muc.f1, result.b3.f1, result.ceafe.f1, result.conll_f1))
        for name, result in results.items()
    ]
    plot = Plot("F1 by metric", "", "F1", tuple(bars), "bars", ("MUC", "B³", "CEAFφ4", "CoNLL"))
    return Findings(
        "scores",
        "Scores",
        (table,),
        (plot,),
        settings_of(documents, systems, drop_singletons),
        {name: result.to_json() for name, result in results.items()},
    )


def _figures(result: Result) -> tuple[float, ...]:
    return (*result.muc, *result.b3, *result.ceafe, result.conll_f1)


def _paper_row(entry: dict[str, Any]) -> Row:
    return row(f"{paper.NAME}: {entry['system']}", *entry["figures"], None, quoted=True)


def compare(
    documents: Sequence[Document],
    one: System,
    other: System,
    cache: ResultCache,
    *,
    drop_singletons: bool = False,
    samples: int = 10_000,
    seed: int = 1,
) -> Findings:
    if len(documents) < 2:
        raise IncorefError("a paired bootstrap needs at least two documents")
    counts = [counts_of(documents, answers(system, documents, cache), drop_singletons) for system in (one, other)]
    by_metric = differences(counts[0], counts[1], samples, seed)
    whole = [f1_of(each.sum(axis=0)) for each in counts]
    names = (CONLL, *METRICS)
    rows = [_compared(name, float(whole[0][name]), float(whole[1][name]), by_metric[name]) for name in names]
    table = Table(
        f"A: {one.name}, B: {other.name}",
        ("F1", "A", "B", "B − A", "95% from", "to", "p"),
        tuple(rows),
        f"Paired bootstrap over {len(documents)} documents, {samples:,} samples, seed {seed}."
        + (" With so few documents it is surer than it should be." if len(documents) < _FEW else ""),
        digits=2,
    )
    each = [f1_of(of_system)[CONLL] for of_system in counts]
    by_document = {
        document.id: [round(float(a), 3), round(float(b), 3)] for document, a, b in zip(documents, *each, strict=True)
    }
    wins = int((each[1] > each[0]).sum())
    losses = int((each[1] < each[0]).sum())
    outcomes = (row("B better", wins), row("A better", losses), row("equal", len(documents) - wins - losses))
    documents_table = Table("Documents by CoNLL F1", ("", "documents"), outcomes)
    plot = Plot(
        f"{other.name} minus {one.name}",
        "difference in F1, 95% interval",
        "",
        (
            series(
                "difference",
                range(len(names)),
                [by_metric[name].value for name in names],
                low=tuple(by_metric[name].low for name in names),
                high=tuple(by_metric[name].high for name in names),
            ),
        ),
        "intervals",
        tuple(TITLES[name] for name in names),
    )
    return Findings(
        "compare",
        f"{one.name} and {other.name}",
        (table, documents_table),
        (plot,),
        {**settings_of(documents, (one, other), drop_singletons), "samples": samples, "seed": seed},
        {"differences": {name: asdict(value) for name, value in by_metric.items()}, "conll_f1": by_document},
    )


def _compared(name: str, one: float, other: float, difference: Difference) -> Row:
    p = "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}"
    return row(TITLES[name], one, other, difference.value, difference.low, difference.high, p)
