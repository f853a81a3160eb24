"""``protocols``: compare systems on whole documents and sentence by sentence, and the amount of work they do.

Under the sentence-incremental protocol a mention must be linked before the next sentence is read. A system that reads
whole documents is run on growing prefixes and its first decisions are final (see ``incrementalise``); a system that
decides sentence by sentence anyway gives the same output under both protocols. Work is counted, not timed: spans
scored, and comparisons of a span with an antecedent or an entity, each fitted as a power of the number of tokens at
one quarter, half, three quarters and all of each document. What a system reads in several prefixes counts each time,
even if the program does it once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from incoref.analysis.clusterings import sentence_ends
from incoref.analysis.findings import Cell, Findings, Plot, Row, Table, row, series
from incoref.analysis.incrementalise import Resolver, as_first_said, growing, prefix
from incoref.analysis.paper_systems import BaselineSystem
from incoref.analysis.provenance import peak_resident_bytes
from incoref.analysis.result_cache import ResultCache, text_digest
from incoref.analysis.scores import score, settings_of
from incoref.analysis.speed import exponent, part_ends, steps_of
from incoref.analysis.system_names import system_named
from incoref.analysis.systems import AnswerSystem, Clusters, ModelSystem, Options, System
from incoref.errors import IncorefError
from incoref.evaluation.metrics import Result
from incoref.types import Document

WHOLE, INCREMENTAL = "whole document", "sentence by sentence"


def is_incremental(system: System) -> bool:
    """Whether the system decides about a sentence before it reads the next one."""
    if isinstance(system, ModelSystem):
        return system.setting in ("sent-inc", "k=1")
    return isinstance(system, BaselineSystem) and bool(getattr(system.model.config, "sentences", False))


Work = list[list[int]]
"""Rows of [tokens, spans, comparisons], at the ends of a document's quarters; empty if the system doesn't count."""


def read_whole(system: System, document: Document) -> tuple[Clusters, Work]:
    """Return the clusters of a document and the work, if the system counts it while it reads."""
    if isinstance(system, BaselineSystem):
        found = system.model.predict(document)
        return found.clusters, [[len(document.tokens), found.spans, found.comparisons]]
    return system.clusters(document), []


def read_parts(system: System, document: Document, whole: Work) -> Work:
    """Return the work of reading each part of a document from its beginning, given that of the ``whole``."""
    if isinstance(system, ModelSystem):
        steps = np.array(steps_of(system, document)).reshape(-1, 4)
        return _at_parts(np.cumsum(steps[:, [0, 2, 3]], axis=0).astype(int).tolist())
    if not isinstance(system, BaselineSystem):
        return []
    reader = system.prefix_reader()
    parts = [prefix(document, end) for end in part_ends(len(document.sentences))[:-1]]
    found = [reader.predict(part) for part in parts]
    counts = [[len(part.tokens), each.spans, each.comparisons] for part, each in zip(parts, found, strict=True)]
    return [*counts, *whole]


def read_prefixes(system: System, document: Document) -> dict[str, Any]:
    """Return the clusters and seconds on growing prefixes, and the work under both protocols."""
    counts: Work = []
    resolve: Resolver = system.clusters
    if isinstance(system, BaselineSystem):
        reader = system.prefix_reader()

        def resolve(text: Document) -> Clusters:
            found = reader.predict(text)
            counts.append([len(text.tokens), found.spans, found.comparisons])
            return found.clusters

    said = growing(resolve, document)
    summed = np.array(counts, dtype=np.int64).reshape(-1, 3)
    summed[:, 1:] = summed[:, 1:].cumsum(axis=0)
    return {
        "clusters": as_first_said(said["answers"], sentence_ends(document)),
        "seconds": sum(said["seconds"]),
        "work": {WHOLE: _at_parts(counts), INCREMENTAL: _at_parts(summed.tolist())},
    }


def _at_parts(rows: Work) -> Work:
    return [rows[place - 1] for place in part_ends(len(rows))]


def measured(system: System, by_sentence: bool, document: Document) -> dict[str, Any]:
    """Return clusters, seconds and work, each by protocol; only of the whole document unless ``by_sentence``."""
    started = time.perf_counter()
    whole, counted = read_whole(system, document)
    seconds = time.perf_counter() - started
    measurement: dict[str, Any] = {"clusters": {WHOLE: whole}, "seconds": {WHOLE: seconds}}
    if is_incremental(system):
        work = read_parts(system, document, counted)
        return {
            "clusters": {WHOLE: whole, INCREMENTAL: whole},
            "seconds": {WHOLE: seconds, INCREMENTAL: seconds},
            "work": {WHOLE: work, INCREMENTAL: work},
        }
    if not by_sentence:
        return {**measurement, "work": {WHOLE: read_parts(system, document, counted)}}
    read = read_prefixes(system, document)
    measurement["clusters"][INCREMENTAL] = read["clusters"]
    measurement["seconds"][INCREMENTAL] = read["seconds"]
    return {**measurement, "work": read["work"]}


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
    limits: Mapping[str, int] | None = None,
) -> Findings:
    """Compare the named systems.

    ``limits`` holds, by title, how many documents a system that is too slow reads sentence by sentence: the shortest.
    """
    limits = limits or {}
    systems = [system_named(name, options, {}) for name in names]
    for system in systems:
        if isinstance(system, AnswerSystem):
            raise IncorefError(f"{system.name}: only has output for whole documents; name systems that can be run")
    titles = [system.name for system in systems]
    if unknown := [title for title in limits if title not in titles]:
        raise IncorefError(f"there is no system '{unknown[0]}'; there are {', '.join(titles)}")
    by_length = sorted(documents, key=lambda document: len(document.tokens))
    scored: list[tuple[str, Result, Result]] = []
    work = []
    bars: dict[str, list[float]] = {WHOLE: [], INCREMENTAL: []}
    for name, system in zip(names, systems, strict=True):
        [peak] = cache.each(
            f"memory of {system.name}",
            by_length[-1:],
            partial(_depends, system),
            partial(peak_bytes, name, options),
            timed=True,
        )
        for part in _parts(system, documents, by_length[: limits.get(system.name)], cache):
            title = f"{system.name}, {part.title}"
            said = [_spans(each["clusters"][part.protocol]) for each in part.measured]
            without, kept = (score(part.documents, said, drop) for drop in (True, False))
            scored.append((title, without, kept))
            whole = len(part.documents) == len(documents)
            if whole:
                bars[part.protocol].append(without.conll_f1)
            shown = peak if whole and (part.protocol == WHOLE or is_incremental(system)) else None
            work.append(_work_row(title, part, shown))
        for figures in bars.values():
            figures += [0.0] * (len(bars[WHOLE]) - len(figures))
    measures = ("MUC F1", "B³ F1", "CEAFφ4 F1", "CoNLL F1", "mention F1")
    columns = ("", *measures, "CoNLL F1 with singletons", "mention F1 with singletons")
    note = "Columns without 'with singletons' leave entities with a single mention out of both sides."
    plotted = tuple(series(protocol, range(len(systems)), figures) for protocol, figures in bars.items())
    return Findings(
        "protocols",
        "Whole documents and sentence by sentence",
        (Table("Scores", columns, tuple(_score_row(*of_one) for of_one in scored), note), _work_table(work)),
        (Plot("Scores", "", "CoNLL F1", plotted, "bars", tuple(titles)),),
        {**settings_of(documents, systems, True), "sentence by sentence": dict(limits)},
        {
            title: {"without singletons": without.to_json(), "with singletons": kept.to_json()}
            for title, without, kept in scored
        },
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Some documents, read by a system under a protocol."""

    title: str
    protocol: str
    documents: Sequence[Document]
    measured: Sequence[dict[str, Any]]


def _parts(
    system: System, documents: Sequence[Document], by_sentence: Sequence[Document], cache: ResultCache
) -> list[_Part]:
    """Read the documents under both protocols; only some of them ``by_sentence``, if the system has a limit."""
    if len(by_sentence) == len(documents) or is_incremental(system):
        measured = _cached(system, True, documents, cache)
        return [_Part(protocol, protocol, documents, measured) for protocol in (WHOLE, INCREMENTAL)]
    parts = [_Part(WHOLE, WHOLE, documents, _cached(system, False, documents, cache))]
    if by_sentence:
        sentences = sum(len(document.sentences) for document in by_sentence)
        some = f"shortest {len(by_sentence)} of {len(documents)} documents, {sentences} sentences"
        measured = _cached(system, True, by_sentence, cache)
        parts += [_Part(f"{each} ({some})", each, by_sentence, measured) for each in (WHOLE, INCREMENTAL)]
    return parts


def _cached(
    system: System, by_sentence: bool, documents: Sequence[Document], cache: ResultCache
) -> list[dict[str, Any]]:
    what = f"reading with {system.name} {'under both protocols' if by_sentence else 'whole documents'}"
    return cache.each(what, documents, partial(_depends, system), partial(measured, system, by_sentence), timed=True)


def _depends(system: System, document: Document) -> tuple[str, str]:
    return system.digest, text_digest(document)


def _spans(clusters: Any) -> Clusters:
    return [[(first, end) for first, end in cluster] for cluster in clusters]


def _score_row(title: str, without: Result, kept: Result) -> Row:
    figures = without.muc.f1, without.b3.f1, without.ceafe.f1, without.conll_f1, without.mentions.f1
    return row(title, *figures, kept.conll_f1, kept.mentions.f1)


def _work_row(title: str, part: _Part, peak: int | None) -> Row:
    tokens = sum(len(document.tokens) for document in part.documents)
    seconds = sum(each["seconds"][part.protocol] for each in part.measured)
    work = [each["work"][part.protocol] for each in part.measured]
    points = [point for of_document in work for point in of_document]
    totals = [of_document[-1] for of_document in work if of_document]
    cells: list[Cell] = []
    for place in (1, 2):
        fit = exponent([point[0] for point in points], [point[place] for point in points])
        cells += [sum(total[place] for total in totals) if totals else None, None if fit is None else f"{fit[0]:.2f}"]
    return row(title, *cells, tokens / seconds if seconds else None, None if peak is None else peak / 2**20)


def _work_table(rows: Sequence[Row]) -> Table:
    columns = (
        "",
        "spans scored",
        "grow as nᵃ, a",
        "comparisons",
        "grow as nᵃ, a",
        "tokens/s",
        "peak memory, MiB",
    )
    note = (
        "Spans and comparisons are those that the protocol asks for: in growing prefixes, the same ones again and "
        "again. Tokens of text per second are measured with a program that does once what a longer prefix can't "
        "change, and doesn't ask CorefQA's questions that can't lead to a link. Peak memory is that of a new "
        "process, libraries included, that has read the longest document whole."
    )
    return Table("Work", columns, tuple(rows), note, digits=0)
