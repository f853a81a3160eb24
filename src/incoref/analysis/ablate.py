"""``ablate``: how much each part of a model contributes. All variants of a configuration train with the same seeds.

Figures are means and standard deviations over seeds. A paired bootstrap over documents tests each variant's
difference from the unchanged configuration; it sums the counts of all seeds of a variant, document by document.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incoref.analysis import paper
from incoref.analysis.bootstrap import CONLL, counts_of, differences, f1_of
from incoref.analysis.findings import Findings, Plot, Row, Table, row, series
from incoref.analysis.result_cache import ResultCache
from incoref.analysis.scores import settings_of
from incoref.analysis.systems import System, answers
from incoref.analysis.training import Models
from incoref.errors import IncorefError
from incoref.types import Document

WHOLE = "as configured"


def read_variants(path: Path) -> dict[str, list[str]]:
    """Read variants from TOML: a table ``variants`` that maps names to lists of NAME=VALUE settings."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))["variants"]
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise IncorefError(f"{path}: not TOML with a table 'variants': {error}") from error
    for name, settings in table.items():
        if not isinstance(settings, list) or not all(isinstance(setting, str) for setting in settings):
            raise IncorefError(f'{path}: variants.{name}: write a list, as ["training.k=[4]"]')
    return dict(table)


def variant_named(text: str) -> tuple[str, list[str]]:
    """Parse ``name: setting setting``; without a name, the settings serve as the name."""
    name, colon, settings = text.partition(":")
    if not colon:
        settings = name = text
    if "=" not in settings:
        raise IncorefError(f"variant '{text}': write it as 'no genre: training.genre_dropout=1.0'")
    return name.strip(), settings.split()


def ablate(
    documents: Sequence[Document],
    models: Models,
    variants: Mapping[str, Sequence[str]],
    cache: ResultCache,
    *,
    seeds: Sequence[int] = (1, 2, 3),
    drop_singletons: bool = False,
    samples: int = 10_000,
    beside_paper: bool = False,
) -> Findings:
    """Compare a configuration with its variants, given as lists of settings by name."""
    systems: list[System] = []
    counts: dict[str, Any] = {}
    f1: dict[str, dict[str, list[float]]] = {}
    for name, settings in {WHOLE: (), **variants}.items():
        of_seeds = []
        for seed in seeds:
            system = models.trained(f"{name}, seed {seed}", [*settings, f"training.seed={seed}"])
            systems.append(system)
            of_seeds.append(counts_of(documents, answers(system, documents, cache), drop_singletons))
        counts[name] = np.sum(of_seeds, axis=0)
        scored = [f1_of(each.sum(axis=0)) for each in of_seeds]
        f1[name] = {metric: [float(each[metric]) for each in scored] for metric in (CONLL, "mentions")}
    rows: list[Row] = []
    differences_by_name = {}
    for name in f1:
        mean, deviation = _mean_and_deviation(f1[name][CONLL])
        cells: tuple[Any, ...] = (None, None, None, None)
        if name != WHOLE and len(documents) > 1:
            difference = differences(counts[WHOLE], counts[name], samples, seed=1)[CONLL]
            differences_by_name[name] = difference
            p = "<0.001" if difference.p < 0.001 else f"{difference.p:.3f}"
            cells = (difference.value, difference.low, difference.high, p)
        rows.append(row(name, mean, deviation, _mean_and_deviation(f1[name]["mentions"])[0], *cells))
    if beside_paper:
        rows += _paper_rows()
    columns = ("variant", "CoNLL F1", "sd", "mention F1", "difference", "95% from", "to", "p")
    note = (
        f"Mean and standard deviation over seeds {', '.join(map(str, seeds))}; paired bootstrap, {samples:,} samples."
    )
    means = [_mean_and_deviation(of[CONLL]) for of in f1.values()]
    bars = series(
        "CoNLL F1",
        range(len(f1)),
        [mean for mean, _ in means],
        low=tuple(mean - (deviation or 0.0) for mean, deviation in means),
        high=tuple(mean + (deviation or 0.0) for mean, deviation in means),
    )
    return Findings(
        "ablate",
        "What parts are worth",
        (Table("Variants", columns, tuple(rows), note, digits=2),),
        (Plot("CoNLL F1, mean ± standard deviation over seeds", "", "F1", (bars,), "bars", tuple(f1)),),
        {
            **settings_of(documents, systems, drop_singletons),
            "seeds": list(seeds),
            "variants": {name: list(settings) for name, settings in variants.items()},
            "samples": samples,
        },
        {"f1": f1},
    )


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float | None]:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), deviation


def _paper_rows() -> list[Row]:
    quoted = paper.figures()["speaker_ablation"]["ontonotes_dev"]
    return [
        row(f"{paper.NAME}: {title}", quoted[name][-1], None, None, difference, None, None, None, quoted=True)
        for name, title, difference in (
            ("sent_inc", "Sent-Inc", None),
            ("without_speaker", "without speakers", quoted["without_speaker"][-1] - quoted["sent_inc"][-1]),
        )
    ]
