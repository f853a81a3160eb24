"""``speed``: tokens per second, latency by block length, memory along a stream, and growth of the work.

Work is counted, not timed: the spans that the detector proposes, and the comparisons of a span with an entity. Both
are fitted as a power of the number of tokens, at one quarter, half, three quarters and all of each document. The
paper's model makes O(n·m) comparisons for n tokens and m entities; span ranking makes O(n⁴).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from incoref.analysis.findings import Cell, Findings, Plot, Table, row, series
from incoref.analysis.provenance import resident_bytes
from incoref.analysis.result_cache import ResultCache, text_digest
from incoref.analysis.scores import settings_of
from incoref.analysis.systems import ModelSystem
from incoref.model.subwords import Utterance, utterances_of
from incoref.options import SessionOptions, block_size
from incoref.session.session import Session
from incoref.types import Document

LENGTHS = ((1, 10), (11, 20), (21, 40), (41, 80), (81, None))
PERCENTILES = (50, 90, 99)
_PARTS = (0.25, 0.5, 0.75, 1.0)
_MARKS = 10
"""Points along a stream at which memory is measured."""
_STREAMS: dict[str, dict[str, Any]] = {
    "all kept": {"eviction": "none"},
    "200 entities, 100 sentences kept": {"eviction": "dual", "max_entities": 200, "history": 100},
}


def steps_of(system: ModelSystem, document: Document) -> list[list[float]]:
    """Return words, seconds, spans proposed and comparisons made, per block."""
    model, options = system.model, system.options
    classes = model.classes(options.scheme, options.genre)
    state, rows = model.start(), []
    for block in model.blocks(utterances_of(document), block_size(system.setting)):
        started = time.perf_counter()
        state, result = model.step(block, state, classes)
        seconds = time.perf_counter() - started
        compared = sum(len(mention.decision.probabilities) - 1 for mention in result.mentions)
        words = sum(len(utterance.words) for utterance, _ in block)
        rows.append([words, round(seconds, 6), len(result.mentions), compared])
    return rows


def stream_of(documents: Sequence[Document], tokens: int) -> Iterator[Utterance]:
    """Yield the documents' sentences, repeated from the start as needed, until there are enough tokens."""
    sentences = [utterance for document in documents for utterance in utterances_of(document) if utterance.words]
    for utterance in cycle(sentences):
        if tokens <= 0:
            return
        tokens -= len(utterance.words)
        yield utterance


def memory_along(
    system: ModelSystem, documents: Sequence[Document], tokens: int, options: dict[str, Any]
) -> list[list[float]]:
    """Measure along a stream: tokens, and the bytes of the session's vectors, the saved session and the process."""
    session = Session(
        system.model,
        SessionOptions(
            setting=system.setting, scheme=system.options.scheme, genre=system.options.genre, undo=0, **options
        ),
    )
    rows: list[list[float]] = []
    following = tokens / _MARKS
    for utterance in stream_of(documents, tokens):
        session.say_words(utterance.words, utterance.speaker)
        if session.tokens >= following:
            rows.append([session.tokens, session.nbytes, len(session.save()), resident_bytes() or 0])
            following += tokens / _MARKS
    return rows


def part_ends(count: int) -> list[int]:
    """Return a quarter, half, three quarters and all of ``count``, rounded and at least 1."""
    return list(dict.fromkeys(max(1, round(part * count)) for part in _PARTS)) if count else []


def exponent(tokens: Sequence[float], counts: Sequence[float]) -> tuple[float, float] | None:
    """Fit counts ≈ b · tokensᵃ by least squares on the logarithms; return (a, b)."""
    points = [(n, count) for n, count in zip(tokens, counts, strict=True) if n > 0 and count > 0]
    if len({n for n, _ in points}) < 2:
        return None
    logs = np.log(np.array(points))
    power, factor = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(power), float(np.exp(factor))


def speed(
    documents: Sequence[Document], system: ModelSystem, cache: ResultCache, *, stream: int = 20_000
) -> Findings:
    """``stream`` is the length in tokens of the stream for measuring memory; 0 skips this measurement."""
    measured = cache.each(
        f"timing {system.name}",
        documents,
        lambda document: (system.digest, system.options.threads, text_digest(document)),
        lambda document: steps_of(system, document),
        timed=True,
    )
    steps = np.array([step for of_document in measured for step in of_document])
    tables = [_speed_table(steps), _latency_table(steps)]
    counted = _growth(measured)
    fits = {name: exponent(counted["tokens"], counted[name]) for name in ("spans", "comparisons")}
    tables.append(
        Table(
            "Work against tokens",
            ("", "of all documents", "grows as tokens to the power", "paper"),
            (
                row("spans proposed", int(steps[:, 2].sum()), _power(fits["spans"]), "n"),
                row("comparisons made", int(steps[:, 3].sum()), _power(fits["comparisons"]), "n·m"),
            ),
            "Span ranking proposes O(n²) spans and makes O(n⁴) comparisons before it prunes.",
        )
    )
    plots = [_latency_plot(steps), _growth_plot(counted, fits)]
    values: dict[str, Any] = {"fits": fits}
    if stream:
        streams = cache.each(
            f"streaming through {system.name}",
            list(_STREAMS.values()),
            lambda options: (system.digest, stream, options, [text_digest(document) for document in documents]),
            lambda options: memory_along(system, documents, stream, options),
            timed=True,
        )
        named = dict(zip(_STREAMS, streams, strict=True))
        tables.append(_memory_table(named))
        plots.append(_memory_plot(named))
        values["memory"] = named
    return Findings(
        "speed",
        f"Speed of {system.name}",
        tuple(tables),
        tuple(plots),
        {**settings_of(documents, (system,), False), "threads": system.options.threads, "stream": stream},
        values,
    )


def _power(fit: tuple[float, float] | None) -> Cell:
    return None if fit is None else f"{fit[0]:.2f}"


def _speed_table(steps: np.ndarray[Any, Any]) -> Table:
    words, seconds = steps[:, 0].sum(), steps[:, 1].sum()
    return Table(
        "Speed",
        ("", "value"),
        (
            row("tokens", int(words)),
            row("seconds", float(seconds)),
            row("tokens a second", float(words / seconds)),
            row("blocks", len(steps)),
        ),
    )


def _named_lengths(steps: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield the latencies in milliseconds of each length class that occurs, then of all blocks."""
    for least, most in LENGTHS:
        chosen = steps[(steps[:, 0] >= least) & (steps[:, 0] <= (most or np.inf)), 1]
        if len(chosen):
            yield (f"{least}–{most}" if most else f"{least} or more"), 1000 * chosen
    yield "all", 1000 * steps[:, 1]


def _latency_table(steps: np.ndarray[Any, Any]) -> Table:
    rows = [
        row(name, len(chosen), *(float(value) for value in np.percentile(chosen, PERCENTILES)), float(chosen.max()))
        for name, chosen in _named_lengths(steps)
    ]
    columns = ("tokens", "blocks", *(f"{percent}%" for percent in PERCENTILES), "longest")
    return Table("Milliseconds by length of a block", columns, tuple(rows))


def _latency_plot(steps: np.ndarray[Any, Any]) -> Plot:
    named = dict(_named_lengths(steps))
    bars = [
        series(f"{percent}%", range(len(named)), [float(np.percentile(chosen, percent)) for chosen in named.values()])
        for percent in PERCENTILES
    ]
    return Plot("Latency", "tokens in a block", "ms", tuple(bars), "bars", tuple(named))


def _growth(measured: Sequence[Sequence[Sequence[float]]]) -> dict[str, list[float]]:
    """Return cumulative tokens, spans and comparisons at the quarters of every document."""
    counted: dict[str, list[float]] = {"tokens": [], "spans": [], "comparisons": []}
    for steps in measured:
        sums = np.cumsum(np.array(steps), axis=0)
        for count in part_ends(len(steps)):
            for name, column in (("tokens", 0), ("spans", 2), ("comparisons", 3)):
                counted[name].append(float(sums[count - 1, column]))
    return counted


def _growth_plot(counted: dict[str, list[float]], fits: dict[str, tuple[float, float] | None]) -> Plot:
    lines = []
    for name, fit in fits.items():
        points = [(n, count) for n, count in zip(counted["tokens"], counted[name], strict=True) if count > 0]
        lines.append(series(name, [n for n, _ in points], [count for _, count in points], points=True))
        if fit is not None:
            ends = [min(counted["tokens"]), max(counted["tokens"])]
            power, factor = fit
            fitted = [factor * n**power for n in ends]
            lines.append(series(f"{factor:.2g}·n^{power:.2f}: {name}", ends, fitted))  # same colour as the points
    return Plot("Work", "tokens", "count", tuple(lines), log=True)


def _memory_table(named: dict[str, list[list[float]]]) -> Table:
    rows = [
        row(name, int(point[0]), point[1] / 1e6, point[2] / 1e6, point[3] / 1e6 if point[3] else None)
        for name, points in named.items()
        for point in points[:: max(1, len(points) // 3)]
    ]
    columns = ("stream", "tokens", "vectors, MB", "saved, MB", "process, MB")
    return Table(
        "Memory", columns, tuple(rows), "Includes the model and whatever the process had loaded before.", digits=2
    )


def _memory_plot(named: dict[str, list[list[float]]]) -> Plot:
    lines = [
        series(name, [point[0] for point in points], [point[2] / 1e6 for point in points])
        for name, points in named.items()
    ]
    return Plot("A session's state", "tokens in the stream", "MB when saved", tuple(lines))
