"""``protocols``: compare systems on whole documents and sentence by sentence, and the amount of work they do.

Under the sentence-incremental protocol a mention must be linked before the next sentence is read. A system that reads
whole documents is run on growing prefixes and its first decisions are final (see ``incrementalise``); a system that
decides sentence by sentence anyway gives the same output under both protocols. Work is counted, not timed: spans
scored, and comparisons of a span with an antecedent or an entity, each fitted as a power of the number of tokens at
one quarter, half, three quarters and all of each document.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from incoref.analysis.clusterings import sentence_ends
from incoref.analysis.findings import Cell, Findings, Plot, Table, row, series
from incoref.analysis.incrementalise import as_first_said, growing, prefix
from incoref.analysis.paper_systems import BaselineSystem
from incoref.analysis.provenance import peak_resident_bytes
from incoref.analysis.result_cache import ResultCache, text_digest
from incoref.analysis.scores import score, settings_of
from incoref.analysis.speed import exponent, part_ends, steps_of
from incoref.analysis.system_names import system_named
from incoref.analysis.systems import AnswerSystem, Clusters, ModelSystem, Options, System
from incoref.errors import IncorefError
from incoref.types import Document

WHOLE, INCREMENTAL = "whole document", "sentence by sentence"


def is_incremental(system: System) -> bool:
    """Whether the system decides about a sentence before it reads the next one."""
    if isinstance(system, ModelSystem):
        return system.setting in ("sent-inc", "k=1")
    return isinstance(system, BaselineSystem) and bool(getattr(system.model.config, "sentences", False))


def read_whole(system: System, document: Document) -> tuple[Clusters, list[list[int]]]:
    """Return the clusters of a document and [tokens, spans, comparisons]; no counts if the system has none."""
    if isinstance(system, BaselineSystem):
        found = system.model.predict(document)
        return found.clusters, [[len(document.tokens), found.spans, found.comparisons]]
    return system.clusters(document), []


def work_of_parts(system: System, document: Document) -> list[list[int]]:
    """Return the same counts at quarters of a document; only for a ModelSystem, the whole document is included."""
    if isinstance(system, ModelSystem):
        steps = np.array(steps_of(system, document)).reshape(-1, 4)
        sums: list[list[int]] = np.cumsum(steps[:, [0, 2, 3]], axis=0).astype(int).tolist()
        return [sums[place - 1] for place in part_ends(len(sums))]
    parts = [prefix(document, end) for end in part_ends(len(document.sentences))[:-1]]
    return [point for part in parts for point in read_whole(system, part)[1]]


def measured(system: System, whole_only: bool, document: Document) -> dict[str, Any]:
    """Return the clusters and seconds under both protocols, and the work."""
    started = time.perf_counter()
    whole, work = read_whole(system, document)
    seconds = time.perf_counter() - started
    work = [*work_of_parts(system, document), *work]
    measurement: dict[str, Any] = {WHOLE: whole, "seconds": {WHOLE: seconds}, "work": work}
    if is_incremental(system):
        measurement[INCREMENTAL], measurement["seconds"][INCREMENTAL] = whole, seconds
        return measurement
    if whole_only:
        return measurement
    said = growing(system.clusters, document)
    measurement[INCREMENTAL] = as_first_said(said["answers"], sentence_ends(document))
    measurement["seconds"][INCREMENTAL] = sum(said["seconds"])
    return measurement


def peak_bytes(name: str, options: Options, document: Document) -> int | None:
    """Return the peak memory of a new process that loads the system and reads the document."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_peak, name, options, document).result()


def _peak(name: str, options: Options, document: Document) -> int | None:
    system_named(name, options, {}).clusters(document)
    return peak_resident_bytes()


def protocols(
    documents: Sequence[Document],
    names: Sequence[str],
    options: Options,
    cache: ResultCache,
    whole_only: Sequence[str] = (),
) -> Findings:
    """Compare the named systems; ``whole_only`` lists the titles of those too slow for growing prefixes."""
    systems = [system_named(name, options, {}) for name in names]
    for system in systems:
        if isinstance(system, AnswerSystem):
            raise IncorefError(f"{system.name}: only has output for whole documents; name systems that can be run")
    titles = [system.name for system in systems]
    if unknown := [title for title in whole_only if title not in titles]:
        raise IncorefError(f"there is no system '{unknown[0]}'; there are {', '.join(titles)}")
    longest = max(documents, key=lambda document: len(document.tokens))
    rows, work, bars = [], [], dict[str, list[float]]()
    results: dict[str, Any] = {}
    for name, system in zip(names, systems, strict=True):
        measurements = _cached(system, system.name in whole_only, documents, cache)
        for protocol in (WHOLE, INCREMENTAL):
            title = f"{system.name}, {protocol}"
            if protocol not in measurements[0]:
                rows.append(row(title, *[None] * 7))
                bars.setdefault(protocol, []).append(0.0)
                continue
            said = [_spans(each[protocol]) for each in measurements]
            without, kept = (score(documents, said, drop) for drop in (True, False))
            figures = without.muc.f1, without.b3.f1, without.ceafe.f1, without.conll_f1, without.mentions.f1
            rows.append(row(title, *figures, kept.conll_f1, kept.mentions.f1))
            bars.setdefault(protocol, []).append(without.conll_f1)
            results[title] = {"without singletons": without.to_json(), "with singletons": kept.to_json()}
        [peak] = cache.each(
            f"memory of {system.name}",
            [longest],
            partial(_depends, system),
            partial(peak_bytes, name, options),
            timed=True,
        )
        work.append(_work_row(system.name, documents, measurements, peak))
    columns = ("", "MUC F1", "B³ F1", "CEAFφ4 F1", "CoNLL F1", "mention F1", "CoNLL F1", "mention F1")
    note = "The last two columns count entities with a single mention; the others leave them out of both sides."
    plotted = tuple(series(protocol, range(len(systems)), figures) for protocol, figures in bars.items())
    return Findings(
        "protocols",
        "Whole documents and sentence by sentence",
        (Table("Scores", columns, tuple(rows), note), _work_table(work)),
        (Plot("Scores", "", "CoNLL F1", plotted, "bars", tuple(system.name for system in systems)),),
        settings_of(documents, systems, True),
        results,
    )


def _cached(
    system: System, whole_only: bool, documents: Sequence[Document], cache: ResultCache
) -> list[dict[str, Any]]:
    what = f"reading with {system.name} {'whole documents' if whole_only else 'under both protocols'}"
    return cache.each(what, documents, partial(_depends, system), partial(measured, system, whole_only), timed=True)


def _depends(system: System, document: Document) -> tuple[str, str]:
    return system.digest, text_digest(document)


def _spans(clusters: Any) -> Clusters:
    return [[(first, end) for first, end in cluster] for cluster in clusters]


def _work_row(
    name: str, documents: Sequence[Document], measurements: Sequence[dict[str, Any]], peak: int | None
) -> Any:
    tokens = sum(len(document.tokens) for document in documents)
    rates = []
    for protocol in (WHOLE, INCREMENTAL):
        seconds = sum(each["seconds"].get(protocol, 0.0) for each in measurements)
        rates.append(tokens / seconds if seconds else None)
    points = [point for each in measurements for point in each["work"]]
    totals = [each["work"][-1] for each in measurements if each["work"]]
    cells: list[Cell] = []
    for place in (1, 2):
        fit = exponent([point[0] for point in points], [point[place] for point in points])
        cells += [sum(total[place] for total in totals) if totals else None, None if fit is None else f"{fit[0]:.2f}"]
    return row(name, *cells, *rates, None if peak is None else peak / 2**20)


def _work_table(rows: Sequence[Any]) -> Table:
    columns = (
        "",
        "spans scored",
        "grow as nᵃ, a",
        "comparisons",
        "grow as nᵃ, a",
        "tokens/s, whole",
        "tokens/s, by sentence",
        "peak memory, MiB",
    )
    note = "Peak memory is that of a new process, libraries included, that has read the longest document."
    return Table("Work", columns, tuple(rows), note, digits=0)
