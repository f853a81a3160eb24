"""``partition``: at what distance links are lost.

Documents are cut into segments of p sentences. Links between segments are removed from both annotation and output,
singletons that result are dropped, and recall is computed for every p.

The paper's models have a peak at p = k, because their encoder relies on the k sentences that it reads together. The
bump is how far recall at p = k lies above the straight line between the neighbouring sizes; for a curve that only
flattens out, it is negative.
"""

from __future__ import annotations

from collections.abc import Sequence

from incoref.analysis import paper
from incoref.analysis.clusterings import sentence_of_token, within_segments
from incoref.analysis.findings import Findings, Plot, Row, Series, Table, row, series
from incoref.analysis.result_cache import ResultCache
from incoref.analysis.scores import settings_of
from incoref.analysis.systems import Clusters, ModelSystem, System, answers
from incoref.evaluation.metrics import Result, Scorer, token_clusters
from incoref.options import block_size
from incoref.types import Document

SIZES = (1, 2, 3, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48)


def partitioned(documents: Sequence[Document], predictions: Sequence[Clusters], size: int) -> Result:
    """Score all documents without the links between segments of ``size`` sentences."""
    scorer = Scorer()
    for document, clusters in zip(documents, predictions, strict=True):
        sentence_of = sentence_of_token(document)
        scorer.add(
            within_segments(token_clusters(document), sentence_of, size), within_segments(clusters, sentence_of, size)
        )
    return scorer.result()


def bump(sizes: Sequence[int], recall: Sequence[float], k: int) -> float | None:
    """How far recall at p = k lies above the line between its neighbours; None without two neighbours."""
    place = sizes.index(k) if k in sizes else 0
    if not 0 < place < len(sizes) - 1:
        return None
    (before, below), (after, above) = ((sizes[i], recall[i]) for i in (place - 1, place + 1))
    return recall[place] - (below + (above - below) * (k - before) / (after - before))


def partition(
    documents: Sequence[Document],
    systems: Sequence[System],
    cache: ResultCache,
    *,
    sizes: Sequence[int] = SIZES,
    beside_paper: bool = False,
) -> Findings:
    sizes = sorted(set(sizes))
    rows: dict[str, list[Row]] = {"CoNLL recall": [], "mention recall": []}
    lines: dict[str, list[Series]] = {"CoNLL recall": [], "mention recall": []}
    bumps: list[Row] = []
    values = {}
    for system in systems:
        predictions = answers(system, documents, cache)
        results = [_recalls(partitioned(documents, predictions, size)) for size in sizes]
        values[system.name] = results
        for place, what in enumerate(rows):
            recall = [result[place] for result in results]
            rows[what].append(row(system.name, *recall))
            lines[what].append(series(system.name, sizes, recall))
        k = block_size(system.setting) if isinstance(system, ModelSystem) else None
        if k is not None:
            recall = [result[0] for result in results]
            bumps.append(row(system.name, k, bump(sizes, recall, k)))
    if beside_paper:
        _beside(sizes, rows, lines, bumps)
    tables = [Table(f"{what} by size of segments", ("system", *map(str, sizes)), tuple(rows[what])) for what in rows]
    if bumps:
        title = "Bump of CoNLL recall at p = k"
        tables.append(Table(title, ("system", "k", "bump"), tuple(bumps), "– where k has no neighbours.", digits=2))
    plots = [Plot(what, "sentences in a segment (p)", "recall", tuple(lines[what])) for what in lines]
    return Findings(
        "partition",
        "Recall within segments",
        tuple(tables),
        tuple(plots),
        {**settings_of(documents, systems, True), "sizes": sizes},
        {"sizes": sizes, "conll_and_mention_recall": values},
    )


def _recalls(result: Result) -> tuple[float, float]:
    return result.conll_recall, result.mentions.recall


def _beside(
    sizes: Sequence[int], rows: dict[str, list[Row]], lines: dict[str, list[Series]], bumps: list[Row]
) -> None:
    """Add the paper's curves, at the sizes that it reports."""
    quoted = paper.figures()["partition"]
    for what, name in (("CoNLL recall", "conll_recall"), ("mention recall", "mention_recall")):
        for k, recall in quoted[name].items():
            known = dict(zip(quoted["size"], recall, strict=True))
            label = f"{paper.NAME}, k={k}"
            rows[what].append(row(label, *(known.get(size) for size in sizes), quoted=True))
            if k in ("1", "4", "20"):
                lines[what].append(series(label, quoted["size"], recall, quoted=True))
            if name == "conll_recall":
                bumps.append(row(label, int(k), bump(quoted["size"], recall, int(k)), quoted=True))
