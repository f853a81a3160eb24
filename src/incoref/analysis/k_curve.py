"""``k-curve``: recall, precision and F1 of coreference and mention detection against k, the sentences per block.

There are two ways: run one model at every k, which needs no training, or train one model per k, as the paper did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incoref.analysis import paper
from incoref.analysis.findings import Findings, Plot, Row, Series, Table, row, series
from incoref.analysis.result_cache import ResultCache
from incoref.analysis.scores import score, settings_of
from incoref.analysis.systems import System, answers
from incoref.analysis.training import Models
from incoref.evaluation.metrics import Result
from incoref.types import Document

KS = (1, 4, 8, 12, 16, 20, 24)
PARTS = ("recall", "precision", "F1")


def trained_for(models: Models) -> Callable[[int], System]:
    """Return a function that trains a model for a given k, for any kind of configuration."""
    is_paper = models.kind == "paper"

    def model(k: int) -> System:
        settings = ["paper.setting=k-sentence", f"paper.k={k}"] if is_paper else [f"training.k=[{k}]"]
        return models.trained(f"k={k}", settings, f"k={k}")

    return model


def k_curve(
    documents: Sequence[Document],
    ways: Sequence[tuple[str, Callable[[int], System]]],
    cache: ResultCache,
    *,
    ks: Sequence[int] = KS,
    drop_singletons: bool = False,
    beside_paper: bool = False,
) -> Findings:
    """Score every k; ``ways`` are named functions from k to a system that reads k sentences per block."""
    ks = sorted(set(ks))
    rows: list[Row] = []
    lines: dict[str, list[Series]] = {"Coreference": [], "Mention detection": []}
    values: dict[str, dict[int, dict[str, object]]] = {}
    systems: list[System] = []
    for name, system_for in ways:
        results = {}
        for k in ks:
            systems.append(system_for(k))
            results[k] = score(documents, answers(systems[-1], documents, cache), drop_singletons)
        values[name] = {k: result.to_json() for k, result in results.items()}
        rows += [row(f"{name}, k={k}", *_figures(result)) for k, result in results.items()]
        figures = [_figures(result) for result in results.values()]
        for place, what in enumerate(lines):
            lines[what] += [
                series(
                    _label(name, part, len(ways) > 1 or beside_paper), ks, [each[3 * place + i] for each in figures]
                )
                for i, part in enumerate(PARTS)
            ]
    if beside_paper:
        _beside(rows, lines)
    heading = ("", *(f"{of} {part}" for of in ("coref", "mention") for part in PARTS))
    table = Table("By k", heading, tuple(rows), "Coreference: means of MUC, B³ and CEAFφ4.")
    return Findings(
        "k-curve",
        "Sentences read at once",
        (table,),
        tuple(Plot(what, "k", "%", tuple(of)) for what, of in lines.items()),
        {**settings_of(documents, systems, drop_singletons), "k": list(ks)},
        {name: {str(k): result for k, result in of.items()} for name, of in values.items()},
    )


def _label(name: str, part: str, named: bool) -> str:
    return f"{name}: {part}" if named else part


def _figures(result: Result) -> tuple[float, ...]:
    return (result.conll_recall, result.conll_precision, result.conll_f1, *result.mentions)


def _beside(rows: list[Row], lines: dict[str, list[Series]]) -> None:
    quoted = paper.figures()["k_sentence"]
    names = ("recall", "precision", "f1")
    for place, k in enumerate(quoted["k"]):
        figures = [quoted[of][name][place] for of in ("coreference", "mention_detection") for name in names]
        rows.append(row(f"{paper.NAME}, k={k}", *figures, quoted=True))
    for what, of in (("Coreference", "coreference"), ("Mention detection", "mention_detection")):
        for name, part in zip(names, PARTS, strict=True):
            lines[what].append(series(f"{paper.NAME}: {part}", quoted["k"], quoted[of][name], quoted=True))
